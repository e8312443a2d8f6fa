import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles.css";
import { App } from "./app";
import { followCatalogue } from "./live/catalogue";
import { followRecent } from "./live/recent";
import { connectLive } from "./live/store";
import { followShowMe } from "./show-me/director";
import { followTheme } from "./theme";

followTheme();
followCatalogue();
followRecent();
connectLive();
followShowMe();

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
