import { join } from 'node:path'
import type { Options } from 'tsup'

/** File names of the pages' scripts, beside the command that embeds them. */
export const PAGE_SCRIPT = 'report-page.global.js'
export const PAYOUT_SCRIPT = 'payout-page.global.js'

/** Build options of the pages' scripts, for the package and for a run from source. */
export function pageBuild(root: string): Options {
  return {
    entry: {
      'cli/report-page': join(root, 'tools/report/page/main.ts'),
      'cli/payout-page': join(root, 'tools/report/payout/page/main.ts'),
    },
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    define: { 'process.env.NODE_ENV': '"production"' },
    minify: true,
    // The script is embedded in a page, which cannot load modules.
    noExternal: [/.*/],
    sourcemap: false,
  }
}
