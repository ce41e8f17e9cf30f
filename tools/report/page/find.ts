import { type Data, nonceOf, type Transaction } from './data.js'

/**
 * The transactions with this id, hash, nonce, shortened hash or part of an id; the best matches are first. An
 * id takes precedence over a nonce, because ids may be numbers. A nonce that a transaction had before counts
 * as well, as does the hash of the transaction that took it.
 */
export function findAll({ transactions }: Pick<Data, 'transactions'>, text: string): readonly Transaction[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  const tests: readonly ((transaction: Transaction) => boolean)[] = [
    ({ id }) => id === text.trim(),
    ({ id }) => id.toLowerCase() === wanted,
    (transaction) => hashesOf(transaction).some((hash) => matches(hash, wanted)),
    (transaction) => String(nonceOf(transaction)) === wanted,
    ({ entries }) => entries.some(({ nonce }) => String(nonce) === wanted),
    ({ id }) => id.toLowerCase().includes(wanted),
  ]
  return [...new Set(tests.flatMap((isWanted) => transactions.filter(isWanted)))]
}

function hashesOf({ attempts, entries }: Transaction): readonly string[] {
  const noted = entries.flatMap(({ note }) => (note?.startsWith('0x') ? [note] : []))
  return [...attempts.map(({ hash }) => hash), ...noted]
}

// A few digits match by chance.
const PART_MIN = 6

/** The whole hash, its beginning, or its ends as the page shows them: `0x123456…cdef`. */
function matches(hash: string, wanted: string): boolean {
  if (!wanted.startsWith('0x')) return false
  const known = hash.toLowerCase()
  const [start = '', end = ''] = wanted.split(/…|\.\.\./)
  return known === wanted || (wanted.length >= PART_MIN && known.startsWith(start) && known.endsWith(end))
}
