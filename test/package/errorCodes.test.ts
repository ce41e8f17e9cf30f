import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { lineOf, readSources, type Source, walk } from '../house/sources.js'

// The union of the codes exists only as a type, so it is read from its declaration.

const TEXT = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
const FAILURES = readFileSync(new URL('../../docs/failures.md', import.meta.url), 'utf8')

// The store contract and the command line compare codes, but make none.
const sources = readSources('src').filter(
  ({ path }) => !/\.(?:test|fixture)\.ts$|^src\/(?:cli|store\/contract)\//.test(path),
)

const members = membersOf('TxlaneErrorCode')
const codes = members.map(({ text }) => text)
const fates = membersOf('Fate').map(({ text }) => text)

type Row = Readonly<Record<'code' | 'when' | 'fate' | 'todo' | 'status', string>>

const rows = [...TEXT.matchAll(/^\| `([A-Z_]+)` +\| (.+) \|$/gm)].map(([, code = '', rest = '']): Row => {
  const [when = '', fate = '', todo = '', status = ''] = rest.split(' | ').map((cell) => cell.trim())
  return { code, when, fate, todo, status }
})

test('each code has one row, in the order of the union, and each row is a code', () => {
  expect(codes.length).toBeGreaterThan(20)
  expect(rows.map(({ code }) => code)).toEqual(codes)
})

test('each row gives the condition, the fate, the remedy, and an HTTP status', () => {
  for (const { code, when, fate, todo, status } of rows) {
    expect(when, code).not.toBe('')
    expect(todo, code).not.toBe('')
    expect(fatesIn(fate).length, `${code}: ${fate}`).toBeGreaterThan(0)
    expect(status, code).toMatch(/^(?:200|202|4\d\d|50[0-4])\b/)
  }
})

test('each code has a docstring', () => {
  const bare = members.filter(({ comment }) => !/^\/\*\*.*[.:]/s.test(comment)).map(({ text }) => text)
  expect(bare).toEqual([])
})

test('each code is made in some file', () => {
  const made = new Set(sources.flatMap(({ tree }) => literalsIn(tree).filter(isMade)).map(({ text }) => text))
  expect(codes.filter((code) => !made.has(code))).toEqual([])
})

test('each fate that is written beside a code is in its row', () => {
  const written = sources.flatMap(fatesWritten)
  expect(written.length).toBeGreaterThan(50)
  const missing = written.filter(({ code, fate }) => {
    const row = rows.find((one) => one.code === code)
    return row !== undefined && !fatesIn(row.fate).includes(fate)
  })
  expect(missing).toEqual([])
})

test('each code that the page of failures names has a row', () => {
  const named = [...FAILURES.matchAll(/`([A-Z]+(?:_[A-Z]+)*)`/g)].map(([, name = '']) => name)
  expect(named.length).toBeGreaterThan(5)
  for (const name of named) expect(codes).toContain(name)
})

function fatesIn(cell: string): readonly string[] {
  return fates.filter((fate) => cell.includes(`\`${fate}\``))
}

/** The members of a union of string literals, each with the comment before it. */
function membersOf(name: string): readonly { readonly text: string; readonly comment: string }[] {
  const { tree, text } = sources.find(({ path }) => path === 'src/errors/base.ts') as Source
  const found: { text: string; comment: string }[] = []
  for (const statement of tree.statements) {
    if (!ts.isTypeAliasDeclaration(statement) || statement.name.text !== name) continue
    if (!ts.isUnionTypeNode(statement.type)) continue
    let before = statement.type.pos
    for (const member of statement.type.types) {
      if (!ts.isLiteralTypeNode(member) || !ts.isStringLiteral(member.literal)) continue
      found.push({ text: member.literal.text, comment: text.slice(before, member.getStart(tree)).trim() })
      before = member.end
    }
  }
  return found
}

function literalsIn(node: ts.Node): readonly ts.StringLiteral[] {
  const found: ts.StringLiteral[] = []
  walk(node, (one) => {
    if (ts.isStringLiteral(one)) found.push(one)
  })
  return found
}

/** True for a property `code`, an argument or the value of a constant; false for comparisons and types. */
function isMade({ parent }: ts.StringLiteral): boolean {
  const isCode = ts.isPropertyAssignment(parent) && parent.name.getText() === 'code'
  return isCode || ts.isCallExpression(parent) || ts.isVariableDeclaration(parent)
}

/** `{ code, fate }`, and `txError(transaction, code, fate, …)`. */
function fatesWritten({ path, tree }: Source): readonly { code: string; fate: string; at: string }[] {
  const found: { code: string; fate: string; at: string }[] = []
  walk(tree, (node) => {
    const [code, fate] = pairIn(node)
    if (code === undefined || fate === undefined || !ts.isStringLiteral(code)) return
    for (const { text } of literalsIn(fate))
      if (fates.includes(text))
        found.push({ code: code.text, fate: text, at: `${path}:${lineOf(tree, node)}` })
  })
  return found
}

function pairIn(node: ts.Node): readonly (ts.Expression | undefined)[] {
  if (ts.isCallExpression(node) && node.expression.getText() === 'txError') return node.arguments.slice(1, 3)
  if (!ts.isObjectLiteralExpression(node)) return []
  return ['code', 'fate'].map((name) => {
    const property = node.properties.find((one) => one.name?.getText() === name)
    return property !== undefined && ts.isPropertyAssignment(property) ? property.initializer : undefined
  })
}
