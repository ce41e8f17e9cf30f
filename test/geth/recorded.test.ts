import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { replay } from './compare.js'
import { KNOWN_SEQUENCES, RECORDED_SEEDS } from './knownSequences.js'
import { requireSteps } from './run.js'
import type { Recording } from './sequence.js'

// Written by `npm run geth -- --record test/geth/recordings`.
const FOLDER = new URL('recordings/', import.meta.url)
const recordings = readdirSync(FOLDER).map(
  (file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Recording,
)

describe('the model of geth’s pool has the answers, counts and contents of the recorded geth', () => {
  it.each(recordings.map((recording) => [recording.sequence.name, recording] as const))(
    '%s',
    async (_name, recording) => {
      expect(await replay(recording)).toBeUndefined()
    },
  )

  it('there is a recording of every known sequence', () => {
    const recorded = recordings.map(({ sequence }) => sequence.name)
    const known = [
      ...KNOWN_SEQUENCES.map(({ name }) => name),
      ...RECORDED_SEEDS.map((seed) => `seed ${seed}`),
    ]
    expect(recorded.sort()).toEqual(known.sort())
  })
})

describe('a sequence that ends before geth re-adds its own transactions', () => {
  const [recording] = recordings.filter(({ outcomes }) => outcomes.length >= 50)
  const cut = (steps: number): Recording => {
    if (recording === undefined) throw new Error('there is no long recording')
    return { ...recording, outcomes: recording.outcomes.slice(0, steps) }
  }

  it.each([0, 9])('fails after %d steps', (steps) => {
    expect(() => requireSteps({ recording: cut(steps) })).toThrow(`Only ${steps} of`)
  })

  it('passes after ten, and an earlier difference is reported', () => {
    requireSteps({ recording: cut(10) })
    requireSteps({ recording: cut(1), difference: { step: 0, what: 'answers', geth: 1, model: 2 } })
  })
})
