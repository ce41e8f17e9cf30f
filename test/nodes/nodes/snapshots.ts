import type { PlainRpc } from '../../demo/plainRpc.js'
import type { Rewind } from './description.js'

/** `evm_snapshot` and `evm_revert`, which anvil, Hardhat and Ganache have in common. */
export async function markBySnapshot(rpc: PlainRpc): Promise<Rewind> {
  const snapshot = await rpc.call('evm_snapshot')
  return async () => {
    if ((await rpc.call('evm_revert', snapshot)) !== true) throw new Error('evm_revert did not go back')
  }
}
