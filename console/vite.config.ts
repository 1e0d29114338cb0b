import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** Static files under /console: no host but the server's own is ever named in them. */
// biome-ignore lint/style/noDefaultExport: vite looks for the default export
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // which file needs which: what bundle.test.ts measures by
    manifest: 'manifest.json',
  },
})
