import { describe, expect, test } from 'vitest'
import { npmScript } from '../support/npmScript.js'

const TIME_MS = 600_000

/** Measures in a child process, because the measurement must not include the heap of the test runner. */
async function retention(...args: string[]) {
  const { code, out, err } = await npmScript('soak:retention', ['--json', ...args])
  if (out === '') throw new Error(err)
  return { code, result: JSON.parse(out) }
}

describe('P9: the data that a lane leaves behind', () => {
  test(
    '20,000 through one lane: each once, and file, rows and heap stay flat',
    async () => {
      const { code, result } = await retention('--transactions', '20000')
      const { once, lost, doubled, flatness } = result
      expect({ once, lost, doubled }).toEqual({ once: 20_000, lost: 0, doubled: 0 })
      expect(flatness.filter(({ flat }: { flat: boolean }) => !flat)).toEqual([])
      expect(code).toBe(0)
    },
    TIME_MS,
  )

  test(
    'if all ended transactions are kept, the rows grow, and the same measurement reports it',
    async () => {
      const { code, result } = await retention('--transactions', '12000', '--ended-max', '1000000')
      const steep = result.flatness.filter(({ flat }: { flat: boolean }) => !flat)
      const named = steep.map(({ measured }: { measured: string }) => measured)
      // Queued transactions have rows as well, so the table of transactions is large from the start.
      expect(named).toContain('hashes')
      expect([code, result.once]).toEqual([1, 12_000])
    },
    TIME_MS,
  )
})
