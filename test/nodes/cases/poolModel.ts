import { systemRandom } from '../../../src/platform/clock.js'
import { KNOWN_SEQUENCES } from '../../geth/knownSequences.js'
import { explain, type Result, runKnown, runRandom } from '../../geth/run.js'
import type { Held, NodeCase } from './nodeCase.js'

const RANDOM_SEQUENCES = 5

/** The devnet and the simulator model geth's pool. The case compares the model with this geth. */
export const poolModel: readonly NodeCase[] = [
  {
    name: 'the model of its pool, known sequences',
    leftOut: unlessGeth,
    run: () => alike(KNOWN_SEQUENCES.map((known) => () => runKnown(known))),
  },
  {
    name: 'the model of its pool, random sequences',
    quick: true,
    leftOut: unlessGeth,
    run: () => alike(Array.from({ length: RANDOM_SEQUENCES }, () => () => runRandom(newSeed()))),
  },
]

function unlessGeth({ name }: Parameters<NonNullable<NodeCase['leftOut']>>[0]): string | undefined {
  return name === 'geth' ? undefined : 'the model is one of geth'
}

const newSeed = () => Math.floor(systemRandom() * 2 ** 31)

async function alike(sequences: readonly (() => Promise<Result>)[]): Promise<Held> {
  let steps = 0
  for (const run of sequences) {
    const { name, replay, ...compared } = await run()
    if (compared.difference !== undefined) {
      return { ok: false, says: `${name}: ${explain(compared)}\n  replay: ${replay}` }
    }
    steps += compared.recording.outcomes.length
  }
  return { ok: true, says: `${sequences.length} sequences, ${steps} steps alike` }
}
