import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { PAGE_SCRIPT } from './pageBuild.js'

const fromSource = new Map<string, Promise<string>>()

/** The script of a page: from the published file, else bundled from source. */
export async function pageScript(name = PAGE_SCRIPT): Promise<string> {
  // The importing module may be the command itself, or a shared chunk in the parent folder.
  for (const place of [`./${name}`, `./cli/${name}`]) {
    const file = new URL(place, import.meta.url)
    if (existsSync(file)) return readFile(file, 'utf8')
  }
  const bundling = fromSource.get(name) ?? bundled(name)
  fromSource.set(name, bundling)
  return bundling
}

async function bundled(name: string): Promise<string> {
  // The import is dynamic: a static one would add a bundler to the package, which never needs it.
  const bundler = new URL('./bundlePage.ts', import.meta.url).href
  const { bundlePage } = (await import(bundler)) as typeof import('./bundlePage.js')
  return bundlePage(name)
}
