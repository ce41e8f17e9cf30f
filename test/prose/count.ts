import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Corpus,
  type Fault,
  faultsOf,
  type Sentence,
  sentencesOfMarkdown,
  sentencesOfSource,
} from './sentences.js'

/** The largest share of faulty sentences in any corpus. */
export const SHARE_MAX = 0.03

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PLACES = [
  'src',
  'tools',
  'test',
  'bench',
  'examples',
  'scripts',
  'docs',
  '.github',
  '.changeset',
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
]
// This folder quotes the faults that it looks for.
const LEFT_OUT = /(?:^|\/)(?:node_modules|dist|results|test\/prose|test\/package\/consumer)(?:\/|$)/

/** All sentences in these files and folders, which are paths from the root of the repository. */
export function proseOf(places: readonly string[]): readonly Sentence[] {
  return filesOf(places.length === 0 ? PLACES : places).flatMap((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return path.endsWith('.md') ? sentencesOfMarkdown(path, text) : sentencesOfSource(path, text)
  })
}

export type Count = {
  readonly corpus: Corpus
  readonly total: number
  readonly faulty: readonly { readonly sentence: Sentence; readonly faults: readonly Fault[] }[]
  readonly share: number
  readonly byFault: ReadonlyMap<Fault, number>
}

/** One count for each corpus that has a sentence. */
export function countOf(sentences: readonly Sentence[]): readonly Count[] {
  const corpora = new Map<Corpus, Sentence[]>()
  for (const sentence of sentences) {
    const known = corpora.get(sentence.corpus)
    if (known) known.push(sentence)
    else corpora.set(sentence.corpus, [sentence])
  }
  return [...corpora].map(([corpus, all]) => {
    const faulty = all
      .map((sentence) => ({ sentence, faults: faultsOf(sentence.text) }))
      .filter(({ faults }) => faults.length > 0)
    const byFault = new Map<Fault, number>()
    for (const fault of faulty.flatMap(({ faults }) => faults))
      byFault.set(fault, (byFault.get(fault) ?? 0) + 1)
    return { corpus, total: all.length, faulty, share: faulty.length / all.length, byFault }
  })
}

function filesOf(places: readonly string[]): readonly string[] {
  return places.flatMap((place) => filesIn(join(ROOT, place))).map(pathOf)
}

function filesIn(path: string): readonly string[] {
  if (LEFT_OUT.test(pathOf(path))) return []
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return []
  if (stats.isDirectory()) return readdirSync(path).flatMap((name) => filesIn(join(path, name)))
  return /\.(?:ts|mts|mjs|md)$/.test(path) ? [path] : []
}

/** From the root of the repository, with slashes on every system. */
function pathOf(file: string): string {
  return relative(ROOT, file).split(sep).join('/')
}
