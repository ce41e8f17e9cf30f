import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { PAGE_SCRIPT } from './pageBuild.js'

let fromSource: Promise<string> | undefined

/** The script of the page: from the published file, else bundled from source. */
export async function pageScript(): Promise<string> {
  // The importing module may be the command itself, or a shared chunk in the parent folder.
  for (const place of [`./${PAGE_SCRIPT}`, `./cli/${PAGE_SCRIPT}`]) {
    const file = new URL(place, import.meta.url)
    if (existsSync(file)) return readFile(file, 'utf8')
  }
  fromSource ??= bundled()
  return fromSource
}

async function bundled(): Promise<string> {
  // The import is dynamic: a static one would add a bundler to the package, which never needs it.
  const bundler = new URL('./bundlePage.ts', import.meta.url).href
  const { bundlePage } = (await import(bundler)) as typeof import('./bundlePage.js')
  return bundlePage()
}
