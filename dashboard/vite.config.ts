import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { liveSchemaPlugin } from "./live-schema.ts";

const service = "http://127.0.0.1:8000";

export default defineConfig({
  base: "/",
  plugins: [react(), tailwindcss(), liveSchemaPlugin()],
  build: {
    outDir: "../src/hybrid_scheduler/server/static",
    emptyOutDir: true,
    // The service's content security policy has no room for data: addresses.
    assetsInlineLimit: 0,
    // The dashboard, and the API page at /docs.
    rollupOptions: { input: ["index.html", "docs.html"] },
    // Swagger UI comes in one piece, for the API page alone.
    chunkSizeWarningLimit: 1600,
  },
  server: { proxy: { "/api": service, "/ws": { target: service, ws: true } } },
  test: {
    environment: "jsdom",
    include: ["tests/**/*.test.{ts,tsx}"],
    setupFiles: ["tests/setup.ts"],
    testTimeout: 30_000,
  },
});
