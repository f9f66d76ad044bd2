import { defineConfig } from 'vite';

// One classic script and one style sheet with fixed names: the program embeds both in each report.
export default defineConfig({
  build: {
    target: 'es2022',
    minify: 'esbuild',
    cssCodeSplit: false,
    modulePreload: false,
    emptyOutDir: true,
    rollupOptions: {
      input: 'src/main.ts',
      output: { format: 'iife', entryFileNames: 'report.js', assetFileNames: 'report[extname]' },
    },
  },
});
