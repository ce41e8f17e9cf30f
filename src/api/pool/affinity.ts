/**
 * Chooses the address for a string, by rendezvous hashing: every process chooses the same one. If an address is
 * missing, only its own strings go to another address.
 */
export function nearestTo<T extends string>(word: string, addresses: readonly T[]): T | undefined {
  const scores = addresses.map((address) => ({ address, score: scoreOf(`${word}@${address.toLowerCase()}`) }))
  return scores.reduce<(typeof scores)[number] | undefined>(
    (best, one) => (best !== undefined && best.score >= one.score ? best : one),
    undefined,
  )?.address
}

/** FNV-1a with one more mix of its bits. The same text has the same number in every process. */
function scoreOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
