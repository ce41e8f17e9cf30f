// Compares the public surface in dist/ with the API report in the repository: node scripts/apiReport.mjs [--write].
//
// The report has each exported name of each entry with its declaration, without comments, so that a change of the
// surface is visible in a review. It changes together with a changeset: see scripts/apiChangeset.mjs.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FILE = `${ROOT}etc/api.txt`
const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
const entries = Object.entries(exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([name, target]) => ({
    name: name.replace(/^\./, 'txlane'),
    file: ROOT + target.import.types.slice(2),
  }))

const program = ts.createProgram(
  entries.map(({ file }) => file),
  {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    skipLibCheck: true,
    types: ['node'],
  },
)
const checker = program.getTypeChecker()
const printer = ts.createPrinter({ removeComments: true })

const report = entries.map(({ name, file }) => `## ${name}\n\n${surfaceOf(file).join('\n')}\n`).join('\n')
if (process.argv.includes('--write')) writeFileSync(FILE, report)
else if (report !== readFileSync(FILE, 'utf8')) {
  console.error(
    'The public surface differs from etc/api.txt. Run npm run api -- --write, and add a changeset.',
  )
  process.exitCode = 1
}

function surfaceOf(file) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file))
  return checker
    .getExportsOfModule(module)
    .map((symbol) => `${symbol.name}: ${declarationOf(symbol)}`)
    .sort()
}

function declarationOf(symbol) {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  return (target.declarations ?? []).map(textOf).sort().join(' ')
}

/** Bundled declarations rename types that clash: the number at the end of such a name may change with any build. */
function textOf(declaration) {
  const text = printer.printNode(ts.EmitHint.Unspecified, declaration, declaration.getSourceFile())
  return text.replace(/\b(\w+)\$\d+\b/g, '$1').replace(/\s+/g, ' ')
}
