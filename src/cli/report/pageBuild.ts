import { join } from 'node:path'
import type { Options } from 'tsup'

/** Where the page's script is, beside the command that puts it into pages. */
export const PAGE_SCRIPT = 'report-page.global.js'

/** How the script of the page is made: the same for the package and for a run from source. */
export function pageBuild(root: string): Options {
  return {
    entry: { 'cli/report-page': join(root, 'src/cli/report/page/main.ts') },
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    define: { 'process.env.NODE_ENV': '"production"' },
    minify: true,
    // It stands in a page, where nothing can be looked up.
    noExternal: [/.*/],
    sourcemap: false,
  }
}
