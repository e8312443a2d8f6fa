/** Made by live-schema.ts at build time. */
declare module "virtual:live-schema" {
  export const messages: string[];
  export const schemas: Record<string, import("./validate").Schema>;
}
