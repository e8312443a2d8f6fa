/** The part of Swagger UI that the page uses; the package has no types of its own. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  interface Options {
    url: string;
    dom_id: string;
    defaultModelsExpandDepth: number;
    displayRequestDuration: boolean;
    docExpansion: "list" | "full" | "none";
    filter: boolean;
    syntaxHighlight: { theme: string };
    validatorUrl: null;
    onComplete: () => void;
  }
  interface Page {
    preauthorizeApiKey(scheme: string, token: string): void;
  }
  export default function SwaggerUI(options: Options): Page;
}
