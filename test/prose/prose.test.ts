import { describe, expect, it } from 'vitest'
import { countOf, proseOf, SHARE_MAX } from './count.js'
import { faultsOf, sentencesOfMarkdown, sentencesOfSource } from './sentences.js'

const texts = (source: string) =>
  sentencesOfSource('src/a.ts', source).map(({ corpus, text }) => `${corpus}: ${text}`)

describe('sentences of a source file', () => {
  it('are its comments, with the lines of one comment joined', () => {
    expect(texts('// The first line\n// goes on here. A second sentence.\nconst a = 1')).toEqual([
      'comments: The first line goes on here.',
      'comments: A second sentence.',
    ])
    expect(texts('/** Calls `f` once. @throws `INVALID` for a bad name */\nconst a = 1')).toEqual([
      'comments: Calls CODE once.',
      'comments: CODE for a bad name',
    ])
  })

  it('are its messages and titles, but no directives and no short labels', () => {
    expect(texts("throw new Error('The lane is closed for now.')")).toEqual([
      'messages: The lane is closed for now.',
    ])
    expect(texts("it('keeps every single nonce', () => {})")).toEqual([
      'test titles: keeps every single nonce',
    ])
    expect(texts("describe.each([1])('of each kind', () => {})")).toEqual(['test titles: of each kind'])
    expect(texts("// biome-ignore lint: it has to be\nconst a = 'a b'")).toEqual([])
  })
})

it('sentences of a page are its paragraphs, items and cells, without its code', () => {
  const page =
    '# A title of words\n\nOne sentence here.\nAnother one there.\n\n```ts\n// what is this\n```\n\n| a cell here | and one more |\n'
  expect(sentencesOfMarkdown('docs/a.md', page).map(({ text }) => text)).toEqual([
    'A title of words',
    'One sentence here.',
    'Another one there.',
    'a cell here',
    'and one more',
  ])
})

describe('faults', () => {
  it.each([
    ['What waits there is sent anew.', ['headless', 'bare pronoun']],
    ['Whoever asked may be gone.', ['headless', 'bare pronoun', 'nobody']],
    ['Those that wait are woken.', ['headless', 'bare pronoun']],
    ['Where it is none, nothing happens.', ['headless']],
    ['The lane knows what was sent.', ['bare pronoun']],
    ['It is told to the caller.', ['old verb']],
    ['The caller who asked gets an answer.', []],
    ['What does each option do?', []],
    ['The lane resends the head after two refreshes.', []],
  ])('of: %s', (sentence, faults) => {
    expect(faultsOf(sentence)).toEqual(faults)
  })
})

it('fewer than 3 % of the sentences of each corpus have a fault', () => {
  const counts = countOf(proseOf([]))
  expect(counts.map(({ corpus }) => corpus).sort()).toEqual(['comments', 'docs', 'messages', 'test titles'])
  expect(
    counts.filter(({ share }) => share >= SHARE_MAX).map(({ corpus, share }) => `${corpus}: ${share}`),
  ).toEqual([])
})
