import type { Hex } from 'viem'
import type { Pool } from '../pool/pool.js'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import { hexOf, type RpcObject, type RpcRequest } from '../rpc/rpcTypes.js'
import type { ChainState } from './chainState.js'
import { headOf, type SealedBlock } from './chainView.js'
import type { Gate } from './gate.js'
import { secondsOf } from './headers.js'

/** Options of `reorg`. */
export type ReorgOptions = {
  /** Whether the transactions of the removed blocks return to the pool. @default true */
  readonly returnToPool?: boolean | undefined
  /**
   * Number of empty blocks that are sealed at once in place of the removed ones; the transactions return
   * after them. A real chain switches to a branch that is at least as long, hence the default.
   * @default depth
   */
  readonly replacementBlocks?: number | undefined
}

/** Steps that change the chain. Each function is called from within the queue, one at a time. */
export type Steps = {
  flashblock(): Promise<void>
  seal(): Promise<SealedBlock>
  reorg(depth: number, options?: ReorgOptions): Promise<void>
}

export type StepsOptions = {
  readonly rpc: AnvilRpc
  readonly chain: ChainState
  readonly pool: Pool
  readonly gate: Gate
  readonly flashblocksPerBlock: number
  readonly gasLimit: bigint
  /** Called for each new flashblock and each sealed block, after the view contains it. */
  readonly onFlashblock: (hashes: readonly Hex[]) => void
  readonly onSealed: (block: SealedBlock) => void
  /** Called before the blocks are removed, while their logs can still be read. */
  readonly onRemoving: (blocks: readonly SealedBlock[]) => Promise<void>
  /** Drawn once per step: whether this flashblock is lost on its way to the readers. */
  readonly flashblockLost: () => boolean
}

const EMPTY_BLOOM = /^0x0+$/

export function createSteps(options: StepsOptions): Steps {
  const { rpc, chain, pool, gate } = options

  async function flashblock(empty = false): Promise<void> {
    const { open, opening } = chain.view()
    // Set before the transactions are sent: anvil rejects a transaction below the base fee that it expects.
    await expectOk(rpc, [
      { method: 'evm_setNextBlockTimestamp', params: [secondsOf(opening)] },
      { method: 'anvil_setNextBlockBaseFeePerGas', params: [hexOf(opening.baseFeePerGas)] },
    ])
    if (!empty) await pool.stage(opening.baseFeePerGas, gasAvailable())
    await expectOk(rpc, [{ method: 'evm_mine', params: [] }])
    const number = (open.at(-1)?.anvilNumber ?? headOf(chain.view()).lastAnvil) + 1
    const block = (await rpc.call('eth_getBlockByNumber', [hexOf(number), false])) as RpcObject
    const logCount = EMPTY_BLOOM.test(block.logsBloom as string) ? 0 : await logsIn(number)
    const settle = await pool.settle()
    const { hashes } = chain.append(block, logCount)
    settle()
    // `seal` follows in the same turn, so that readers of a chain without pre-confirmations never see it open.
    if (options.flashblocksPerBlock === 1) return
    if (options.flashblockLost()) chain.hide()
    else options.onFlashblock(hashes)
  }

  async function logsIn(number: number): Promise<number> {
    const range = { fromBlock: hexOf(number), toBlock: hexOf(number) }
    return ((await rpc.call('eth_getLogs', [range])) as unknown[]).length
  }

  // Each flashblock adds another share of the block's gas, and gas that earlier flashblocks did not use
  // remains available, as with Base's builder.
  function gasAvailable(): bigint {
    const { open } = chain.view()
    const shares = BigInt(Math.min(open.length + 1, options.flashblocksPerBlock))
    const last = open.at(-1)
    const used = last ? last.before.gas + last.gasUsed : 0n
    return (options.gasLimit * shares) / BigInt(options.flashblocksPerBlock) - used
  }

  async function seal(empty = false): Promise<SealedBlock> {
    if (chain.view().open.length === 0) await flashblock(empty)
    const block = chain.seal()
    options.onSealed(block)
    return block
  }

  return {
    flashblock: () => flashblock(),
    seal: () => seal(),
    async reorg(depth, { returnToPool = true, replacementBlocks = depth } = {}) {
      const view = chain.view()
      const kept = view.sealed[view.length - 1 - depth]!
      const newest = view.open.at(-1)?.anvilNumber ?? headOf(view).lastAnvil
      const removed = view.sealed.slice(view.length - depth, view.length)
      await options.onRemoving(removed)
      const gone = [...removed.flatMap((one) => one.flashblocks), ...view.open]
      const hashes = gone.flatMap((one) => one.hashes)
      const raws = returnToPool ? await rawsOf(rpc, hashes) : []
      await gate.alone(async () => {
        await rpc.call('anvil_rollback', [newest - kept.lastAnvil])
        const settle = await pool.settle()
        chain.truncate(depth)
        settle()
      })
      for (let sealed = 0; sealed < replacementBlocks; sealed += 1) await seal(true)
      await pool.readmit(raws)
    },
  }
}

async function expectOk(rpc: AnvilRpc, calls: readonly RpcRequest[]): Promise<void> {
  for (const reply of await rpc.batch(calls)) {
    if ('error' in reply) throw new Error(`anvil refused to make a block: ${reply.error.message}`)
  }
}

async function rawsOf(rpc: AnvilRpc, hashes: readonly Hex[]): Promise<Hex[]> {
  const replies = await rpc.batch(
    hashes.map((hash) => ({ method: 'eth_getRawTransactionByHash', params: [hash] })),
  )
  return replies.flatMap((reply) => ('result' in reply && reply.result ? [reply.result as Hex] : []))
}
