import { invalid } from '../../../src/errors/invalid.js'
import type { FaultEngine } from '../faults/faults.js'
import type { ChainView, SealedBlock } from './chainView.js'
import type { ReorgOptions, Steps } from './steps.js'

/** Advances the chain, by timer or by hand. One movement runs at a time, in the order of the calls. */
export type Motion = {
  /** Makes the next flashblock. A complete block is sealed first. */
  step(): Promise<void>
  seal(): Promise<SealedBlock>
  reorg(depth: number, options?: ReorgOptions): Promise<void>
}

export function createMotion(options: {
  readonly queue: Queue
  readonly steps: Steps
  readonly faults: FaultEngine
  readonly view: () => ChainView
  readonly flashblocksPerBlock: number
  readonly historyBlocks: number
}): Motion {
  const { queue, steps, faults, view, flashblocksPerBlock, historyBlocks } = options

  async function seal(): Promise<SealedBlock> {
    const fault = faults.strikes('reorg')
    const depth = fault?.depth ?? 1
    // The fault has no effect on a chain that is too short.
    if (fault !== undefined && Math.min(view().length, historyBlocks) > depth) {
      await steps.reorg(depth, { returnToPool: fault.returnToPool })
    }
    return steps.seal()
  }

  return {
    step: () =>
      queue.run(async () => {
        if (flashblocksPerBlock === 1) return void (await seal())
        // Readers see the last flashblock of a block before the block is sealed, as on a live chain, where
        // the seal follows some time later.
        if (view().open.length >= flashblocksPerBlock) await seal()
        await steps.flashblock()
      }),
    seal: () => queue.run(seal),
    reorg(depth, reorgOptions) {
      return queue.run(async () => {
        const deep = Math.min(view().length, historyBlocks) - 1
        if (!Number.isInteger(depth) || depth < 1 || depth > deep) {
          throw invalid('depth', depth, `a number of sealed blocks from 1 to ${deep}`)
        }
        await steps.reorg(depth, reorgOptions)
      })
    },
  }
}

/** Runs one task at a time, in the order of the calls. A failed task does not stop the next ones. */
export type Queue = { run<t>(task: () => Promise<t>): Promise<t> }

/**
 * Steps, seals, reorganisations and direct writes to anvil share one queue, so that a flashblock never starts
 * while the previous one is still being built.
 */
export function createQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(task) {
      const result = last.then(task, task)
      last = result.catch(() => undefined)
      return result
    },
  }
}
