import { join } from 'node:path'
import type { Options } from 'tsup'

/** File name of the page's script, beside the command that embeds it. */
export const PAGE_SCRIPT = 'report-page.global.js'

/** Build options of the page's script, for the package and for a run from source. */
export function pageBuild(root: string): Options {
  return {
    entry: { 'cli/report-page': join(root, 'tools/report/page/main.ts') },
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    define: { 'process.env.NODE_ENV': '"production"' },
    minify: true,
    // The licence of the bundled chart library asks for its notice.
    banner: { js: '/*! Contains uPlot, Copyright (c) 2025 Leon Sorokin, MIT License */' },
    // The script is embedded in a page, which cannot load modules.
    noExternal: [/.*/],
    sourcemap: false,
  }
}
