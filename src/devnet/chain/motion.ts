import { invalid } from '../../errors/invalid.js'
import type { FaultEngine } from '../faults/faults.js'
import type { ChainView, SealedBlock } from './chainView.js'
import type { Queue } from './queue.js'
import type { ReorgOptions, Steps } from './steps.js'

/** How the chain moves: by the timer's ticks, or by hand. One movement at a time, in the order asked for. */
export type Motion = {
  /** The next flashblock; seals first what is complete. */
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
    // A chain too short for the fault is left alone.
    if (fault !== undefined && Math.min(view().length, historyBlocks) > depth) {
      await steps.reorg(depth, { returnToPool: fault.returnToPool })
    }
    return steps.seal()
  }

  return {
    step: () =>
      queue.run(async () => {
        // The last flashblock of a block is seen by readers before the block is sealed, as on a live chain, where
        // sealing follows it by some time. With one flashblock a block there is nothing to see before.
        if (view().open.length >= flashblocksPerBlock) await seal()
        await steps.flashblock()
        if (flashblocksPerBlock === 1) await seal()
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
