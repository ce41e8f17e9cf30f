import ts from 'typescript'
import { lineOf, readSources, type Source, walk } from '../house/sources.js'

/** One option as its type declares it. */
export type Option = {
  /** `bump.percent` for a member of an object that is written in place. */
  readonly name: string
  readonly isOptional: boolean
  /** The text of its `@default` tag. */
  readonly byDefault: string | undefined
}

export type OptionType = {
  readonly name: string
  /** The members that the declaration writes out. */
  readonly options: readonly Option[]
  /** The members that it picks from another type. */
  readonly picked: readonly string[]
}

const sources = readSources('src', 'tools').filter(({ path }) => !/\.(?:test|fixture)\.ts$/.test(path))

type Declaration = ts.TypeAliasDeclaration

/** The type with this name: the one that an entry exports, or else the only one that a module exports. */
export function optionType(name: string, exported: ReadonlyMap<string, Declaration | undefined>): OptionType {
  const named = sources.flatMap(({ tree }) => typesIn(tree)).filter((one) => one.name.text === name)
  const declaration = exported.get(name) ?? (named.length === 1 ? named[0] : undefined)
  if (declaration === undefined) throw new Error(`${named.length} types are named ${name}`)
  return { name, options: distinct(optionsOf(declaration.type)), picked: pickedBy(declaration.type) }
}

const typesIn = (tree: ts.SourceFile): readonly Declaration[] =>
  tree.statements.filter(ts.isTypeAliasDeclaration).filter(isExported)

function isExported({ modifiers }: Declaration): boolean {
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
}

/** An option that one variant requires, and another one does not, is optional. */
function distinct(options: readonly Option[]): readonly Option[] {
  const found = new Map<string, Option>()
  for (const option of options) if (!found.get(option.name)?.isOptional) found.set(option.name, option)
  return [...found.values()]
}

/** A type that only its own file knows is a part of the types that refer to it. */
function optionsOfOwn({ typeName }: ts.TypeReferenceNode): readonly Option[] {
  const own = typeName
    .getSourceFile()
    .statements.filter(ts.isTypeAliasDeclaration)
    .find((one) => !isExported(one) && one.name.text === typeName.getText())
  return own === undefined ? [] : optionsOf(own.type)
}

/** Through intersections, unions and conditions, and not into the types of members. */
function optionsOf(type: ts.TypeNode): readonly Option[] {
  if (ts.isParenthesizedTypeNode(type)) return optionsOf(type.type)
  if (ts.isIntersectionTypeNode(type)) return type.types.flatMap(optionsOf)
  if (ts.isUnionTypeNode(type)) return type.types.flatMap(optionsOf)
  if (ts.isConditionalTypeNode(type)) return [...optionsOf(type.falseType), ...optionsOf(type.trueType)]
  if (ts.isTypeReferenceNode(type)) return optionsOfOwn(type)
  if (ts.isTypeLiteralNode(type)) return type.members.filter(ts.isPropertySignature).flatMap(withNested)
  return []
}

function withNested(member: ts.PropertySignature): readonly Option[] {
  const option = optionOf(member)
  const nested = member.type === undefined ? [] : inPlace(member.type)
  if (!NESTED.has(option.name) || nested.length === 0) return [option]
  return nested.map((one) => ({
    name: `${option.name}.${one.name.getText()}`,
    isOptional: true,
    byDefault: defaultBeside(member, one.name.getText()),
  }))
}

/** Objects with defaults of their own. */
const NESTED: ReadonlySet<string> = new Set(['bump'])

function inPlace(type: ts.TypeNode): readonly ts.PropertySignature[] {
  if (ts.isUnionTypeNode(type)) return type.types.flatMap(inPlace)
  return ts.isTypeLiteralNode(type) ? type.members.filter(ts.isPropertySignature) : []
}

function optionOf(member: ts.PropertySignature): Option {
  const [, byDefault] = /@default\s+([\s\S]+?)\s*(?:@|$)/.exec(commentOf(member)) ?? []
  return { name: member.name.getText(), isOptional: member.questionToken !== undefined, byDefault }
}

/** `percent`: … (@default 10). */
function defaultBeside(member: ts.PropertySignature, name: string): string | undefined {
  const [, byDefault] =
    new RegExp(`\`${name}\`[\\s\\S]*?\\(@default ([^)]+)\\)`).exec(commentOf(member)) ?? []
  return byDefault
}

function commentOf(node: ts.Node): string {
  const { text } = node.getSourceFile()
  return (ts.getLeadingCommentRanges(text, node.pos) ?? [])
    .map(({ pos, end }) => text.slice(pos, end))
    .join('\n')
    .replaceAll(/^\s*(?:\/\*\*|\*\/|\*(?!\/)) ?|\s*\*\/$/gm, '')
    .trim()
}

/** The names in `Pick<Type, 'a' | 'b'>`, wherever the declaration has one. */
function pickedBy(type: ts.TypeNode): readonly string[] {
  const names: string[] = []
  walk(type, (node) => {
    if (!ts.isTypeReferenceNode(node) || node.typeName.getText() !== 'Pick') return
    const [, keys] = node.typeArguments ?? []
    if (keys === undefined) return
    walk(keys, (key) => {
      if (ts.isStringLiteral(key)) names.push(key.text)
    })
  })
  return names
}

/** Every name that a module exports, with its declaration if it is a type alias. */
export function exportsOf(path: string, seen = new Set<string>()): Map<string, Declaration | undefined> {
  const found = new Map<string, Declaration | undefined>()
  const source = sources.find((one) => one.path === path)
  if (source === undefined || seen.has(path)) return found
  seen.add(path)
  for (const declaration of typesIn(source.tree)) found.set(declaration.name.text, declaration)
  for (const statement of source.tree.statements.filter(ts.isExportDeclaration)) {
    const { exportClause } = statement
    const passedOn = exportsOf(targetOf(statement, source), new Set(seen))
    if (exportClause === undefined) for (const [name, declaration] of passedOn) found.set(name, declaration)
    else if (ts.isNamedExports(exportClause))
      for (const { name } of exportClause.elements) found.set(name.text, passedOn.get(name.text))
  }
  return found
}

function targetOf(statement: ts.ExportDeclaration, { imports, tree }: Source): string {
  const line = lineOf(tree, statement)
  return imports.find((one) => one.line === line)?.target ?? ''
}
