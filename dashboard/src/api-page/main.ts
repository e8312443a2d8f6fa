/** The page at /docs: every call of the API, to read and to try, by Swagger UI. Everything it needs comes from here. */
import licence from "swagger-ui-dist/LICENSE?raw";
import "swagger-ui-dist/swagger-ui.css";
import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import { currentToken } from "../api/token";
import { followTheme, shownTheme, themeChoice } from "../theme";
import "./api-page.css";

const SCHEME = "token";
/** The security scheme in the service's description; it is there only when the service wants a token. */

const button = document.querySelector<HTMLButtonElement>("#theme");

followTheme((shown) => {
  document.documentElement.classList.toggle("dark-mode", shown === "dark");
  if (button !== null) button.textContent = shown === "dark" ? "Light theme" : "Dark theme";
});
button?.addEventListener("click", () => themeChoice.set(shownTheme() === "dark" ? "light" : "dark"));

const ui = SwaggerUI({
  url: "/api/openapi.json",
  dom_id: "#api",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  syntaxHighlight: { theme: "nord" },
  validatorUrl: null,
  onComplete: () => {
    const token = currentToken();
    if (token !== null) ui.preauthorizeApiKey(SCHEME, token);
  },
});

const credits = document.querySelector("#licence");
if (credits !== null) credits.textContent = licence;
