import { readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { readTexts } from '../house/sources.js'
import { docExamples } from './docExamples.js'
import { type Example, typeCheck } from './typeCheck.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(`${ROOT}README.md`, 'utf8')

const examples = textExamples(readme, 'readme')
const names = readdirSync(`${ROOT}docs`).filter((name) => name.endsWith('.md'))
const pages = names.map((name) => readFileSync(`${ROOT}docs/${name}`, 'utf8'))
// Each page stands alone: its examples import everything that they use.
const guides = names.flatMap((name, index) => textExamples(pages[index] ?? '', `docs/${name}`))

const wrong: Example = {
  heading: 'none',
  file: 'wrong.ts',
  text: "import { createSender } from 'txlane'\ncreateSender({ clients: 1 })\n",
}

const documented = docExamples(ROOT)
let problems: ReadonlyMap<string, readonly string[]>
beforeAll(async () => {
  problems = await typeCheck(ROOT, [...examples, ...guides, ...documented, wrong])
}, 300_000)

describe('an example in a doc comment', () => {
  it.each(documented)('compiles: $heading', ({ file }) => {
    expect(problems.get(file)).toEqual([])
  })

  it('is found wherever there is one', () => {
    expect(documented.map(({ heading }) => heading)).toContain('src/api/createSender.ts')
    const marked = readTexts('src').flatMap(({ text }) => [...text.matchAll(/^ +\* @example$/gm)])
    expect(documented).toHaveLength(marked.length)
  })
})

describe('a guide', () => {
  it('has only examples that compile', () => {
    const wanting = guides.flatMap(({ heading, file }) =>
      (problems.get(file) ?? ['not read']).map((problem) => `${heading}: ${problem}`),
    )
    expect(wanting).toEqual([])
  })
})

describe('the README', () => {
  it('is a front door: short, and with a link to a page for a bot, a relayer and payouts', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(125)
    expect(readme.length).toBeLessThanOrEqual(9_000)
    for (const page of ['start', 'trading', 'relayer', 'command-line', 'batches', 'options', 'README'])
      expect(readme).toContain(`(docs/${page}.md)`)
  })

  it('has an example that sends and waits, of 15 lines at most', () => {
    expect(examples.map(({ heading }) => heading)).toContain('Send and wait')
    for (const { heading, text } of examples) {
      const lines = text
        .trim()
        .split('\n')
        .filter((line) => line !== '')
      expect(lines.length, heading).toBeLessThanOrEqual(15)
    }
  })

  it.each(examples)('compiles as strictly as the library: $heading', ({ file }) => {
    expect(problems.get(file)).toEqual([])
  })

  it('is checked by a compiler that sees mistakes', () => {
    expect(problems.get(wrong.file)?.join()).toContain('clients')
  })

  it('names commands that exist, as the pages do', () => {
    const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = [...`${readme}${pages.join('\n')}`.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(
      ([, name]) => name,
    )
    expect(named).toEqual(expect.arrayContaining(['bench', 'demo', 'model', 'peers', 'sim']))
    for (const name of named) expect(scripts).toHaveProperty(name ?? '')
    expect(scripts).toHaveProperty('test')
  })

  it('has its test command run by .ci/run, and then the checks and the demonstration', () => {
    const ci = readFileSync(`${ROOT}.ci/run`, 'utf8')
    const commands = ['npm ci', 'npm test', 'npm run check', 'npm run demo -- --json']
    const places = commands.map((command) => ci.indexOf(`step ${command}`))
    expect(readme).toContain(`\n${commands.slice(0, 2).join(' && ')}\n`)
    expect(places).toEqual([...places].filter((place) => place >= 0).sort((a, b) => a - b))
    expect(places).toHaveLength(commands.length)
    expect(statSync(`${ROOT}.ci/run`).mode & 0o111).toBe(0o111)
  })
})

/** The TypeScript in a Markdown text, each piece under the heading that it stands below. */
function textExamples(markdown: string, source: string): readonly Example[] {
  const found: Example[] = []
  let heading = ''
  for (const [, next, text] of markdown.matchAll(/^#{1,3} (.+)$|^```ts\n([\s\S]*?)^```$/gm)) {
    heading = next ?? heading
    if (text === undefined) continue
    const file = `${source.replaceAll(/\W/g, '-')}-${found.length}.ts`
    found.push({ heading: source === 'readme' ? heading : `${source}: ${heading}`, file, text })
  }
  return found
}
