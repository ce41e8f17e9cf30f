import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { index: 'src/index.ts', 'devnet/index': 'src/devnet/index.ts' },
  format: ['esm', 'cjs'],
  target: 'es2022',
  dts: true,
  splitting: true,
  treeshake: true,
  clean: true,
  sourcemap: true,
})
