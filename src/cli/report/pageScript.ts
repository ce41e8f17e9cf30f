import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { PAGE_SCRIPT } from './pageBuild.js'

let fromSource: Promise<string> | undefined

/** The script of the page: as it was published, else made of its source. */
export async function pageScript(): Promise<string> {
  // What imports this may be the command itself, or a piece that it shares with others, one folder above.
  for (const place of [`./${PAGE_SCRIPT}`, `./cli/${PAGE_SCRIPT}`]) {
    const file = new URL(place, import.meta.url)
    if (existsSync(file)) return readFile(file, 'utf8')
  }
  fromSource ??= bundled()
  return fromSource
}

async function bundled(): Promise<string> {
  // Not by its name: the package would bring a bundler along for what it never needs.
  const bundler = new URL('./bundlePage.ts', import.meta.url).href
  const { bundlePage } = (await import(bundler)) as typeof import('./bundlePage.js')
  return bundlePage()
}
