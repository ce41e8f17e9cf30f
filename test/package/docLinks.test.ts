import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs', 'examples', 'bench']
  .flatMap((place) => filesIn(join(ROOT, place)))
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, name: relative(ROOT, path), text: readFileSync(path, 'utf8') }))

describe('links between pages', () => {
  it('lead to files that exist, and to headings in them', () => {
    const broken = pages.flatMap(({ path, name, text }) =>
      linksIn(text)
        .filter((link) => !leads(path, link))
        .map((link) => `${name}: ${link}`),
    )
    expect(broken).toEqual([])
  })

  it('reach every page of the documentation from its index', () => {
    const index = pages.find(({ name }) => name === 'docs/README.md')
    const linked = new Set(linksIn(index?.text ?? '').map((link) => link.replace(/#.*/, '')))
    const all = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md')
    expect(all.length).toBeGreaterThan(30)
    expect(all.filter((name) => !linked.has(name))).toEqual([])
  })

  it('of the README stay inside the repository, so that npm resolves them', () => {
    const readme = pages.find(({ name }) => name === 'README.md')
    for (const link of linksIn(readme?.text ?? '')) expect(link).not.toMatch(/^\.\.|^\//)
  })
})

/** Relative ones; code is no prose, and has none. */
function linksIn(text: string): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, 'code')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/i.test(link))
}

function leads(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? from : join(dirname(from), file)
  if (!existsSync(target)) return false
  if (anchor === undefined || !target.endsWith('.md')) return true
  return anchorsOf(readFileSync(target, 'utf8')).has(anchor)
}

/** GitHub's names of headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (const [, heading = ''] of text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const name = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-')
    let anchor = name
    for (let times = 1; found.has(anchor); times++) anchor = `${name}-${times}`
    found.add(anchor)
  }
  return found
}

function filesIn(path: string): readonly string[] {
  if (!existsSync(path) || path.includes('node_modules')) return []
  return statSync(path).isDirectory()
    ? readdirSync(path).flatMap((name) => filesIn(join(path, name)))
    : [path]
}
