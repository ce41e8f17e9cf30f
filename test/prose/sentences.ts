import ts from 'typescript'
import { lineOf, walk } from '../house/sources.js'

/** A kind of text that is counted by itself. */
export type Corpus = 'comments' | 'docs' | 'test titles' | 'messages'

export type Sentence = {
  readonly corpus: Corpus
  readonly path: string
  /** Where the text that contains it begins. */
  readonly line: number
  readonly text: string
}

/** Comments, test titles and messages of a TypeScript file. */
export function sentencesOfSource(path: string, text: string): readonly Sentence[] {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true)
  const lineAt = (position: number) => tree.getLineAndCharacterOfPosition(position).line + 1
  const found: Sentence[] = []
  for (const { position, body } of commentsOf(tree)) add('comments', lineAt(position), body)
  walk(tree, (node) => {
    const title = titleOf(node)
    if (title !== undefined) add('test titles', lineOf(tree, node), title)
    else if (isProse(node, path)) add('messages', lineOf(tree, node), wordsOf(node))
  })
  return found

  function add(corpus: Corpus, line: number, body: string): void {
    for (const sentence of split(body)) found.push({ corpus, path, line, text: sentence })
  }
}

/** Paragraphs, list items and table cells of a Markdown page, without its code. */
export function sentencesOfMarkdown(path: string, text: string): readonly Sentence[] {
  const found: Sentence[] = []
  let [paragraph, begun, fenced]: [string[], number, boolean] = [[], 1, false]
  const end = () => {
    for (const sentence of split(paragraph.join(' ')))
      found.push({ corpus: 'docs', path, line: begun, text: sentence })
    paragraph = []
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced
    if (fenced || /^\s*(?:```|~~~|$)/.test(line)) {
      end()
      continue
    }
    const isNew = /^\s*(?:[-*>] |\d+\. |#+ |\|)/.test(line)
    if (isNew) end()
    if (paragraph.length === 0) begun = index + 1
    const cells = line.trim().startsWith('|')
      ? line.split('|')
      : [line.replace(/^\s*(?:[-*>]|\d+\.|#+) +/, '')]
    for (const cell of cells.slice(0, -1)) {
      paragraph.push(cell)
      end()
      begun = index + 1
    }
    paragraph.push(cells.at(-1) ?? '')
  }
  end()
  return found
}

/** The kinds of fault that a sentence may have. A question may begin with its question word. */
export type Fault = 'headless' | 'bare pronoun' | 'nobody' | 'old verb'

const HEADLESS = /^(?:what|who|whoever|whatever|whose|whom|which|where|wherever|those|that which)\b/i
const BARE = /\b(?:whoever|whatever|whosever|those (?:that|who|which)|that which)\b|\bwhat(?!-if)\b/i
const PERSON =
  /\b(?:callers?|persons?|people|users?|operators?|strangers?|developers?|readers?|newcomers?|humans?|someone|anyone|everyone|one),? who\b/gi
const NOBODY = /\b(?:nobody|somebody|anybody|everybody|whoever)\b/i
const OLD_VERB = /\b(?:tell|tells|told|telling)\b/i

export function faultsOf(sentence: string): readonly Fault[] {
  const faults: Fault[] = []
  const isQuestion = sentence.endsWith('?')
  if (!isQuestion && HEADLESS.test(sentence)) faults.push('headless')
  if (!isQuestion && (BARE.test(sentence) || /\bwho\b/i.test(sentence.replace(PERSON, ''))))
    faults.push('bare pronoun')
  if (NOBODY.test(sentence)) faults.push('nobody')
  if (OLD_VERB.test(sentence)) faults.push('old verb')
  return faults
}

function commentsOf(tree: ts.SourceFile): readonly { readonly position: number; readonly body: string }[] {
  const { text } = tree
  const ranges = new Map<number, ts.CommentRange>()
  const visit = (node: ts.Node) => {
    const children = node.getChildren(tree)
    if (children.length === 0) {
      for (const range of ts.getLeadingCommentRanges(text, node.pos) ?? []) ranges.set(range.pos, range)
      for (const range of ts.getTrailingCommentRanges(text, node.end) ?? []) ranges.set(range.pos, range)
    }
    children.forEach(visit)
  }
  visit(tree)
  const comments: { position: number; end: number; body: string; isLine: boolean }[] = []
  for (const { pos, end, kind } of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const isLine = kind === ts.SyntaxKind.SingleLineCommentTrivia
    const before = comments.at(-1)
    const body = bodyOf(text.slice(pos, end), isLine)
    // Lines that follow each other are one comment.
    if (isLine && before?.isLine && /^\r?\n\s*$/.test(text.slice(before.end, pos))) {
      before.body += ` ${body}`
      before.end = end
    } else comments.push({ position: pos, end, body, isLine })
  }
  return comments.filter(
    ({ body }) => !/^\s*(?:biome-ignore|@ts-|@vitest|#__PURE__|\/ <ref|c8 |v8 |istanbul|Stryker)/.test(body),
  )
}

function bodyOf(comment: string, isLine: boolean): string {
  if (isLine) return comment.replace(/^\/\/+ ?/, '')
  return comment
    .replace(/^\/\*+|\*+\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .replace(/```[\s\S]*?```/g, '')
    .replace(/\n\s*\n/g, '. ')
    .replace(/@default .*/g, '')
    .replace(/\.?\s*@(?:throws|param|returns|see|deprecated|remarks|example)\b/g, '. ')
}

const TITLED = new Set(['it', 'test', 'describe', 'house', 'bench'])

function titleOf(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node)) return undefined
  const name = rootOf(node.expression)
  const [first] = node.arguments
  if (name === undefined || !TITLED.has(name) || first === undefined) return undefined
  return ts.isStringLiteralLike(first) || ts.isTemplateExpression(first) ? wordsOf(first) : undefined
}

/** `it` for `it`, `it.each(...)` and `describe.skipIf(...)`. */
function rootOf(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) return rootOf(node.expression)
  return undefined
}

/** A literal that is a sentence for people: of some words, with a full stop at its end. */
function isProse(node: ts.Node, path: string): boolean {
  if (/\.(?:test|fixture)\.ts$/.test(path) || path.startsWith('test/')) return false
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return false
  if (ts.isImportDeclaration(node.parent) || ts.isExportDeclaration(node.parent)) return false
  return /^[A-Z"'`].*\s.*\s.*[.:?!]$/s.test(wordsOf(node).trim())
}

function wordsOf(node: ts.Node): string {
  if (ts.isStringLiteralLike(node)) return node.text
  if (!ts.isTemplateExpression(node)) return ''
  return node.head.text + node.templateSpans.map(({ literal }) => `CODE${literal.text}`).join('')
}

function split(body: string): readonly string[] {
  return body
    .replace(/`[^`]*`/g, 'CODE')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]+>/g, ' ')
    .replace(/[*_]{1,2}([^*_]+)[*_]{1,2}/g, '$1')
    .replace(/\s+/g, ' ')
    .split(/(?<=[.!?])\s+(?=["'(]?[A-Z])/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.split(' ').length > 2)
}
