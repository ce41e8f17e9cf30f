import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Options } from 'tsup'
import ts from 'typescript'
import { expect, it } from 'vitest'
import config from '../../tsup.config.js'

// Editors show docstrings on hover, so every public name of the package needs a sentence.

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const files = (config as Options[]).flatMap(({ entry }) => Object.values(entry as Record<string, string>))
// The command line is not a module to import.
const entries = [...new Set(files)]
  .filter((file) => !file.startsWith('tools/cli/'))
  .map((file) => join(ROOT, file))

const program = ts.createProgram(entries, {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  strict: true,
  skipLibCheck: true,
  noEmit: true,
})
const checker = program.getTypeChecker()

const isOwn = (node: ts.Node) => node.getSourceFile().fileName.includes('/src/')
const hasSentence = (symbol: ts.Symbol) => symbol.getDocumentationComment(checker).length > 0

function placeOf(node: ts.Node): string {
  const file = node.getSourceFile()
  const { line } = file.getLineAndCharacterOfPosition(node.getStart())
  return `${file.fileName.replace(/.*\/(src|tools)\//, '$1/')}:${line + 1}`
}

/** One sentence before a variant of a union describes all its members: a comment, `|`, the variant. */
function isOfDescribedVariant(member: ts.Node): boolean {
  const variant = member.parent
  if (!ts.isTypeLiteralNode(variant) || !ts.isUnionTypeNode(variant.parent)) return false
  const before = variant.parent.types[variant.parent.types.indexOf(variant) - 1]
  const from = before?.end ?? variant.parent.getFullStart()
  return variant.getSourceFile().text.slice(from, variant.getStart()).includes('/**')
}

/** Names without a sentence among a module's exports and the members of its types and classes. */
function undescribed(exported: ts.Symbol): string[] {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
  const declarations = (symbol.declarations ?? []).filter(isOwn)
  const [first] = declarations
  const own = first && !hasSentence(symbol) ? [`${placeOf(first)} ${symbol.name}`] : []
  return [...own, ...declarations.flatMap((declaration) => undescribedMembers(symbol, declaration))]
}

function undescribedMembers(symbol: ts.Symbol, declaration: ts.Declaration): string[] {
  const hasMembers =
    ts.isTypeAliasDeclaration(declaration) ||
    ts.isInterfaceDeclaration(declaration) ||
    ts.isClassDeclaration(declaration)
  if (!hasMembers) return []
  const type = checker.getTypeAtLocation(declaration)
  const parts = type.isUnion() ? type.types : [type]
  return parts.flatMap((part) =>
    part.getProperties().flatMap((member) => {
      const at = member.declarations?.[0]
      if (at === undefined || !isOwn(at) || /^(?:#|__)/.test(member.name)) return []
      if (hasSentence(member) || isOfDescribedVariant(at)) return []
      return [`${placeOf(at)} ${symbol.name}.${member.name}`]
    }),
  )
}

it('describes each export of each entry, and each member of its types, in a sentence', () => {
  const missing = entries.flatMap((entry) => {
    const file = program.getSourceFile(entry)
    const module = file && checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${entry} is no module`)
    return checker.getExportsOfModule(module).flatMap(undescribed)
  })
  expect(entries.length).toBeGreaterThanOrEqual(10)
  expect([...new Set(missing)]).toEqual([])
}, 120_000)
