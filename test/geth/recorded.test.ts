import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { replay } from './compare.js'
import { KNOWN_SEQUENCES, RECORDED_SEEDS } from './knownSequences.js'
import type { Recording } from './sequence.js'

// Written by `npm run geth -- --record test/geth/recordings`.
const FOLDER = new URL('recordings/', import.meta.url)
const recordings = readdirSync(FOLDER).map(
  (file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Recording,
)

describe('the model of geth’s pool answers, counts and holds what a geth did', () => {
  it.each(recordings.map((recording) => [recording.sequence.name, recording] as const))(
    '%s',
    async (_name, recording) => {
      expect(await replay(recording)).toBeUndefined()
    },
  )

  it('of every known sequence there is a recording', () => {
    const recorded = recordings.map(({ sequence }) => sequence.name)
    const known = [
      ...KNOWN_SEQUENCES.map(({ name }) => name),
      ...RECORDED_SEEDS.map((seed) => `seed ${seed}`),
    ]
    expect(recorded.sort()).toEqual(known.sort())
  })
})
