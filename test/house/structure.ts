import ts from 'typescript'
import { production, ROOT_ENTRY, type Rule } from './rules.js'
import { lineOf, type Source, walk } from './sources.js'

/**
 * The folders of the library, from the lowest to the highest. A file may import from its own folder and from lower ones;
 * types count. A folder that is not listed belongs to the nearest one above it that is.
 */
const FLOORS: readonly string[] = [
  'errors',
  'platform',
  'ledger',
  'types',
  'rpc',
  'rpc/transports',
  'rpc/methods',
  'store',
  'store/contract',
  'store/postgres',
  'store/sqlite',
  'delivery',
  'allocator',
  'chain',
  'chain/blocks',
  'chain/endpoints',
  'validate',
  'lane',
  'lane/reasons',
  'lane/transaction',
  'lane/queue',
  'lane/gas',
  'lane/session',
  'lane/signing',
  'lane/broadcast',
  'lane/admission',
  'lane/confirmation',
  'lane/engine',
  'ownership',
  'api/records',
  'api/sender',
  'api/pool',
  'api/allocators',
  'api',
  'viem',
  'signer',
  'kms',
  'ethers',
  'opentelemetry',
  'recorder',
  'outbox',
]

/** `lane/queue` for src/lane/queue/order.ts; undefined outside the library. */
function floorOf(path: string): string | undefined {
  for (let folder = folderOf(path); folder !== ''; folder = folderOf(folder))
    if (FLOORS.includes(folder.replace(/^src\//, ''))) return folder.replace(/^src\//, '')
  return undefined
}

function folderOf(path: string): string {
  const at = path.lastIndexOf('/')
  return at < 0 ? '' : path.slice(0, at)
}

export const floorsPointDownwards: Rule = (sources) =>
  production(sources)
    .filter(({ path }) => path.startsWith('src/') && path !== ROOT_ENTRY)
    .flatMap(({ path, imports }) => {
      const floor = floorOf(path)
      if (floor === undefined) return [`${path}: the folder has no floor`]
      return imports
        .filter(({ target }) => /^(?:src|tools)\//.test(target))
        .filter(({ target }) => isAbove(floorOf(target), floor))
        .map(({ target, line }) => `${path}:${line} imports ${target}`)
    })

/** A folder without a floor stands above all of them. */
function isAbove(other: string | undefined, own: string): boolean {
  return other === undefined || FLOORS.indexOf(other) > FLOORS.indexOf(own)
}

/** Whether the folder of the one file stands above the folder of the other. */
export function isHigher(file: string, than: string): boolean {
  const floor = floorOf(than)
  return floor !== undefined && isAbove(floorOf(file), floor)
}

/** Types counted. Of a circle each import that closes it is named. */
export const noCircleOfFolders: Rule = (sources) => {
  const files = production(sources)
  const known = new Set(files.map(({ path }) => path))
  const edges = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ target }) => known.has(target) && folderOf(target) !== folderOf(path))
      .map(({ target, line }) => ({ from: folderOf(path), to: folderOf(target), path, target, line })),
  )
  const next = new Map<string, Set<string>>()
  for (const { from, to } of edges) put(next, from, to)
  return edges
    .filter(({ from, to }) => leadsTo(next, to, from))
    .map(({ path, target, line }) => `${path}:${line} imports ${target}`)
}

function leadsTo(next: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  const seen = new Set<string>()
  const open = [from]
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (folder === to) return true
    if (seen.has(folder)) continue
    seen.add(folder)
    open.push(...(next.get(folder) ?? []))
  }
  return false
}

const FUNCTION_LINES_MAX = 120

/** From its first line to its last, with the functions inside it. The body of a test file is no function of the machine. */
export const functionsAreShort: Rule = (sources) =>
  sources
    .filter(({ path }) => !path.endsWith('.test.ts'))
    .flatMap(({ path, tree }) => {
      const found: string[] = []
      walk(tree, (node) => {
        if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return
        const lines = endLineOf(tree, node) - lineOf(tree, node) + 1
        if (lines > FUNCTION_LINES_MAX)
          found.push(`${path}:${lineOf(tree, node)} ${nameOf(node)} has ${lines} lines`)
      })
      return found
    })

function endLineOf(tree: ts.SourceFile, node: ts.Node): number {
  return tree.getLineAndCharacterOfPosition(node.end).line + 1
}

function nameOf(node: ts.SignatureDeclaration): string {
  return node.name !== undefined && ts.isIdentifier(node.name) ? node.name.text : 'a function without a name'
}

const BAG_MEMBERS_MAX = 6
const BAG_USERS_MAX = 5

/**
 * A bag is an object type whose members are mostly parts, that is, objects of types from other files. One that is handed to
 * many files lets each of them reach everything.
 */
export const noBagIsHandedAround: Rule = (sources) => {
  const files = production(sources)
  const users = new Map<string, Set<string>>()
  for (const { path, tree } of files) for (const name of typesHandedIn(tree)) put(users, name, path)
  return files.flatMap((source) =>
    bagsIn(source)
      .filter(({ name }) => (users.get(name)?.size ?? 0) > BAG_USERS_MAX)
      .map(
        ({ name, members }) =>
          `${source.path}: ${name} has ${members} members and is handed to ${users.get(name)?.size} files`,
      ),
  )
}

function put(map: Map<string, Set<string>>, key: string, value: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(value))
}

/** The names of the types of all parameters, and of the members of parameters that are written in place. */
function typesHandedIn(tree: ts.SourceFile): readonly string[] {
  const found: string[] = []
  walk(tree, (node) => {
    if (!ts.isTypeReferenceNode(node) || !ts.isIdentifier(node.typeName)) return
    // `Pick` and an index name the members that the file uses.
    if (ts.isIndexedAccessTypeNode(node.parent)) return
    if (ts.isTypeReferenceNode(node.parent) && node.parent.typeName.getText(tree) === 'Pick') return
    for (let above: ts.Node = node.parent; above !== undefined; above = above.parent) {
      if (ts.isParameter(above) || ts.isTypeAliasDeclaration(above))
        return void found.push(node.typeName.text)
      if (ts.isFunctionLike(above) || ts.isSourceFile(above)) return
    }
  })
  return found
}

function bagsIn({ tree }: Source): readonly { readonly name: string; readonly members: number }[] {
  const found: { name: string; members: number }[] = []
  const imported = namesImported(tree)
  for (const node of tree.statements) {
    if (!ts.isTypeAliasDeclaration(node) || !ts.isTypeLiteralNode(node.type)) continue
    const members = node.type.members.filter(ts.isPropertySignature)
    const parts = members.filter(({ type }) => type !== undefined && isPart(type, imported))
    if (members.length > BAG_MEMBERS_MAX && 2 * parts.length > members.length)
      found.push({ name: node.name.text, members: members.length })
  }
  return found
}

function isPart(type: ts.TypeNode, imported: ReadonlySet<string>): boolean {
  return ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName) && imported.has(type.typeName.text)
}

function namesImported(tree: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>()
  for (const node of tree.statements) {
    if (!ts.isImportDeclaration(node)) continue
    const bindings = node.importClause?.namedBindings
    if (bindings && ts.isNamedImports(bindings))
      for (const { name } of bindings.elements) names.add(name.text)
  }
  return names
}

// Words of the old vocabulary, in names of files, of identifiers and of states. Each had a standard term all along.
const OLD_WORDS =
  /^(?:tenures?|seats?|guests?|strays?|hubs?|takeup|finds|relief|machinery|faces?|wishe?s?|wished|couriers?|takers?|fallen)$/i
/** An event is emitted, a caller notified, a result reported, a stage delivered. This one holds in tests as well. */
const OLD_VERB = /^(?:un)?(?:tells?|told|tellings?)$/i

/** Splits `openHub` into `open` and `Hub`, and `HUBS_MAX` into `HUBS` and `MAX`. */
const wordsOf = (name: string) => name.split(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_#]/)

export const oldWordsDoNotComeBack: Rule = (sources) => {
  const inProduction = new Set(production(sources))
  return sources.flatMap((source) => {
    const { path, tree } = source
    const found: string[] = []
    const isOld = (name: string) =>
      wordsOf(name).some((word) => OLD_VERB.test(word) || (inProduction.has(source) && OLD_WORDS.test(word)))
    const file = path.slice(path.lastIndexOf('/') + 1, -'.ts'.length)
    if (isOld(file)) found.push(`${path} is named ${file}`)
    walk(tree, (node) => {
      const name = nameDeclaredBy(node)
      if (name !== undefined && isOld(name)) found.push(`${path}:${lineOf(tree, node)} declares ${name}`)
    })
    return found
  })
}

/** The name of a declared identifier, or a string of a type, such as a state. */
function nameDeclaredBy(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node)) return ts.isLiteralTypeNode(node.parent) ? node.text : undefined
  return (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && isDeclared(node) ? node.text : undefined
}

function isDeclared(node: ts.Identifier | ts.PrivateIdentifier): boolean {
  const { parent } = node
  return (
    (ts.isVariableDeclaration(parent) ||
      ts.isParameter(parent) ||
      ts.isBindingElement(parent) ||
      ts.isFunctionDeclaration(parent) ||
      ts.isTypeAliasDeclaration(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isPropertyDeclaration(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isMethodDeclaration(parent) ||
      ts.isClassDeclaration(parent)) &&
    parent.name === node
  )
}
