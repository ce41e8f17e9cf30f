import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import ts from 'typescript'

/** One import or re-export, static or dynamic. */
export type Import = {
  /** A path from the repository's root for relative imports (`src/platform/clock.ts`), else the name unchanged. */
  readonly target: string
  /** Removed by compilation: imports no value. */
  readonly typeOnly: boolean
  /** By `import()`: loaded when the call runs. */
  readonly dynamic: boolean
  readonly line: number
}

export type Source = {
  /** From the repository's root, with slashes. */
  readonly path: string
  readonly text: string
  readonly tree: ts.SourceFile
  readonly imports: readonly Import[]
}

const ROOT = new URL('../../', import.meta.url)

/** Every TypeScript file in the given folders. */
export function readSources(...folders: readonly string[]): readonly Source[] {
  return readTexts(...folders).map(({ path, text }) => parseSource(path, text))
}

/** The same without parsing, which takes time. */
export function readTexts(...folders: readonly string[]): readonly Pick<Source, 'path' | 'text'>[] {
  return folders
    .flatMap((folder) => ts.sys.readDirectory(new URL(folder, ROOT).pathname, ['.ts']))
    .map((file) => ({ path: posix.relative(ROOT.pathname, file), text: readFileSync(file, 'utf8') }))
}

export function parseSource(path: string, text: string): Source {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true)
  return { path, text, tree, imports: importsOf(tree, path) }
}

/** Calls `visit` for every node of the tree. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node)
  node.forEachChild((child) => walk(child, visit))
}

export function lineOf(tree: ts.SourceFile, node: ts.Node): number {
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1
}

function importsOf(tree: ts.SourceFile, path: string): readonly Import[] {
  const found: Import[] = []
  const add = (node: ts.Node, specifier: ts.Node | undefined, typeOnly: boolean, dynamic = false) => {
    if (specifier === undefined || !ts.isStringLiteral(specifier)) return
    found.push({ target: resolve(path, specifier.text), typeOnly, dynamic, line: lineOf(tree, node) })
  }
  walk(tree, (node) => {
    if (ts.isImportDeclaration(node)) add(node, node.moduleSpecifier, importsTypesOnly(node.importClause))
    else if (ts.isExportDeclaration(node)) add(node, node.moduleSpecifier, exportsTypesOnly(node))
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node, node.argument.literal, true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node, node.arguments[0], false, true)
    }
  })
  return found
}

// Under verbatimModuleSyntax, a lone `import { type a }` still imports the module for its side effects. No
// module here has any, so it counts as importing no value.
function importsTypesOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  const { name, namedBindings } = clause
  if (name !== undefined || namedBindings === undefined || !ts.isNamedImports(namedBindings)) return false
  return namedBindings.elements.every((element) => element.isTypeOnly)
}

function exportsTypesOnly(node: ts.ExportDeclaration): boolean {
  if (node.isTypeOnly) return true
  const { exportClause } = node
  return (
    exportClause !== undefined &&
    ts.isNamedExports(exportClause) &&
    exportClause.elements.every((element) => element.isTypeOnly)
  )
}

function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts')
}
