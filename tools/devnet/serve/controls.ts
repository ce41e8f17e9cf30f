import type { Queue } from '../chain/motion.js'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import { fail, METHOD_NOT_FOUND, ok, type RpcReply, type RpcRequest } from '../rpc/rpcTypes.js'

// State changes that do not affect how blocks are made; anvil applies them to its newest block.
const PASSED = new Set(
  ['setBalance', 'setCode', 'setNonce', 'setStorageAt'].flatMap((name) => [
    `anvil_${name}`,
    `hardhat_${name}`,
  ]),
)
const MINES = new Set(['evm_mine', 'anvil_mine', 'hardhat_mine'])
const FAMILY = /^(evm|anvil|hardhat)_/

/** Whether a method belongs to the families that control a node instead of reading it. */
export function isControl(method: string): boolean {
  return FAMILY.test(method)
}

export type ControlOptions = {
  readonly rpc: AnvilRpc
  readonly queue: Queue
  readonly seal: () => Promise<void>
  /** Called after the state was changed, so that the pool reads it again. */
  readonly touched: () => Promise<void>
}

/**
 * Serves the calls of viem's test client and similar tools: state changes, and mining, which seals blocks
 * here. Snapshots, automine and impersonation are rejected, because the view would no longer match anvil's
 * chain.
 */
export function createControl(options: ControlOptions): (call: RpcRequest) => Promise<RpcReply> {
  return async ({ method, params }) => {
    if (MINES.has(method)) {
      const blocks = method === 'evm_mine' ? 1 : Number(params[0] ?? 1)
      for (let sealed = 0; sealed < blocks; sealed += 1) await options.seal()
      return ok(method === 'evm_mine' ? '0x0' : null)
    }
    if (!PASSED.has(method)) {
      return fail(METHOD_NOT_FOUND, `the devnet does not support ${method}: use the handle of startDevnet`)
    }
    return options.queue.run(async () => {
      const [reply] = await options.rpc.batch([{ method, params }])
      await options.touched()
      return reply ?? fail(-32603, 'internal error')
    })
  }
}
