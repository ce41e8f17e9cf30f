import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

// A program of several files as plain JavaScript. It starts in half the time that it takes through a loader, which goes
// from file to file and keeps the name of every function.
export async function bundle(entry, { parent, name, ...options }) {
  const folder = mkdtempSync(join(parent, name))
  await build({
    entryPoints: { main: entry },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
    ...options,
  })
  return { folder, path: join(folder, 'main.mjs') }
}
