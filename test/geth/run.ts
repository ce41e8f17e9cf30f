import { systemClock } from '../../src/platform/clock.js'
import { buildGeth, findGeth, gethCommand } from '../nodes/find/geth.js'
import { startNodeProcess } from '../nodes/run/nodeProcess.js'
import { deriveRandom } from '../sim/random.js'
import { type Compared, compareWith } from './compare.js'
import { drawFlags, drawSequence, FUNDS_WEI } from './drawSequence.js'
import type { KnownSequence } from './knownSequences.js'
import { createRealNode, gethArgs } from './realNode.js'
import type { NodeFlags, Sequence } from './sequence.js'

export type Result = Compared & {
  readonly name: string
  /** The command that reproduces it. */
  readonly replay: string
}

const STEPS = 100

export async function runKnown({ name, flags, make }: KnownSequence): Promise<Result> {
  return { name, replay: `npm run geth -- --known '${name}'`, ...(await runOn(flags, make)) }
}

/** Flags and steps follow from the seed. */
export async function runRandom(seed: number): Promise<Result> {
  const flags = drawFlags(deriveRandom(seed, 'flags'))
  const name = `seed ${seed}`
  const make = (chainId: number) =>
    drawSequence({ random: deriveRandom(seed, 'steps'), name, chainId, steps: STEPS, flags })
  return { name, replay: `npm run geth -- --runs 1 --seed ${seed}`, ...(await runOn(flags, make)) }
}

/** On a fresh node, because leftovers of an earlier sequence would change this one. */
async function runOn(flags: NodeFlags, make: (chainId: number) => Promise<Sequence>): Promise<Compared> {
  // Signed before the node starts, because ten seconds later the node re-adds transactions missing from its
  // pool.
  const sequence = await make(GETH_CHAIN_ID)
  const file = (await findGeth()) ?? (await buildGeth((line) => process.stdout.write(`${line}\n`)))
  const startMs = systemClock.now()
  await using running = await startNodeProcess(gethCommand(file), gethArgs(flags))
  const geth = await createRealNode(running.url)
  const compared = await compareWith({ geth, startMs, flags }, sequence, FUNDS_WEI)
  requireSteps(compared)
  return compared
}

/** Fewer steps prove nothing. A quiet machine compares all of them in four seconds. */
const STEPS_MIN = 10

/** @throws Error if the node was so slow, on a busy machine, that hardly a step was compared */
export function requireSteps({ recording: { sequence, outcomes }, difference }: Compared): void {
  const { length } = outcomes
  if (difference !== undefined || length >= Math.min(STEPS_MIN, sequence.steps.length)) return
  throw new Error(
    `Only ${length} of ${sequence.steps.length} steps were compared before geth sends again by itself.`,
  )
}

// geth's development chain.
const GETH_CHAIN_ID = 1337

/** Describes the sequence, and the difference, for people. */
export function explain({ recording, difference }: Compared): string {
  if (difference === undefined) {
    const { steps } = recording.sequence
    const { length } = recording.outcomes
    return `${length} steps alike${length < steps.length ? `, ${steps.length - length} left out for want of time` : ''}`
  }
  const { step, what, geth, model } = difference
  const done = JSON.stringify(recording.sequence.steps[step])
  return [
    `${what} differ at step ${step}: ${done.slice(0, 400)}`,
    `  geth:  ${JSON.stringify(geth)}`,
    `  model: ${JSON.stringify(model)}`,
    `  flags: ${JSON.stringify(recording.flags)}`,
  ].join('\n')
}
