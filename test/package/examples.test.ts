import { readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { readTexts } from '../house/sources.js'
import { docExamples, type Example } from './docExamples.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(`${ROOT}README.md`, 'utf8')

const examples = textExamples(readme, 'readme')
// Each guide stands alone: its examples say what they import.
const guides = readdirSync(`${ROOT}docs`)
  .filter((name) => name.endsWith('.md'))
  .flatMap((name) => textExamples(readFileSync(`${ROOT}docs/${name}`, 'utf8'), `docs/${name}`))

const wrong: Example = {
  heading: 'none',
  file: `${ROOT}test/package/example-wrong.ts`,
  text: "import { createSender } from 'txlane'\ncreateSender({ clients: 1 })\n",
}

const documented = docExamples(ROOT)
let problems: ReadonlyMap<string, readonly string[]>
beforeAll(() => {
  problems = typeCheck([...examples, ...guides, ...documented, wrong])
}, 300_000)

describe('an example in a doc comment', () => {
  it.each(documented)('compiles: $heading', ({ file }) => {
    expect(problems.get(file)).toEqual([])
  })

  it('is found wherever there is one', () => {
    expect(documented.map(({ heading }) => heading)).toContain('src/sender/sender.ts')
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
  it('has an example for a bot, a relayer and a batch script, of 15 lines at most', () => {
    const kinds = ['For a bot', 'For a relayer', 'For a batch script']
    expect(examples.map(({ heading }) => heading)).toEqual(expect.arrayContaining(kinds))
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

  it('names commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = [...readme.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name]) => name)
    expect(named).toEqual(expect.arrayContaining(['demo', 'check', 'sim']))
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
    const file = `${ROOT}test/package/example-${source.replaceAll(/\W/g, '-')}-${found.length}.ts`
    found.push({ heading: source === 'readme' ? heading : `${source}: ${heading}`, file, text })
  }
  return found
}

// As in a project of ES modules: ethers has other types for CommonJS, whose classes are not the same.
const AS_MODULE: ts.CreateSourceFileOptions = {
  languageVersion: ts.ScriptTarget.ES2022,
  impliedNodeFormat: ts.ModuleKind.ESNext,
}

/** Type-checks texts as if they stood in this folder and the package were installed. */
function typeCheck(files: readonly Example[]): ReadonlyMap<string, readonly string[]> {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: ['x.ts'] }, ts.sys, ROOT)
  const paths = Object.fromEntries(
    Object.entries({
      txlane: 'index',
      'txlane/devnet': 'devnet/index',
      'txlane/ethers': 'ethers/index',
      'txlane/opentelemetry': 'opentelemetry/index',
      'txlane/postgres': 'store/postgres/index',
      'txlane/recorder': 'recorder/index',
      'txlane/signer': 'signer/index',
      'txlane/sqlite': 'store/sqlite/index',
      'txlane/store-contract': 'store/contract/index',
    }).map(([name, file]) => [name, [`${ROOT}src/${file}.ts`]]),
  )
  const host = ts.createCompilerHost({ ...options, paths })
  const texts = new Map(files.map(({ file, text }) => [file, text]))
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => texts.has(file) || fileExists(file)
  host.readFile = (file) => texts.get(file) ?? readFile(file)
  host.getSourceFile = (file, ...rest) => {
    const text = texts.get(file)
    return text === undefined ? getSourceFile(file, ...rest) : ts.createSourceFile(file, text, AS_MODULE)
  }
  const program = ts.createProgram([...texts.keys()], { ...options, paths }, host)
  return new Map(
    files.map(({ file }) => {
      const source = program.getSourceFile(file)
      const found = source
        ? [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
        : []
      return [file, found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))]
    }),
  )
}
