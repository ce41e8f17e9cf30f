import { type Address, getContractAddress, type Hex } from 'viem'
import { getCode, getStorageAt, waitForCode, waitForStorage } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import type { Port, RpcCall } from '../../../src/rpc/port.js'
import { profileOf } from '../../../src/rpc/profile.js'
import { createHttpPort } from '../../../src/rpc/transports/http.js'
import type { RunningNode } from '../run/startNode.js'
import { openWorkbench } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'

/** Stores 7 at slot 0 and leaves one byte of code. */
const CONTRACT: Hex = '0x60076000556001601160003960016000f300'
const CODE = '0x00'
const SEVEN: Hex = `0x${'7'.padStart(64, '0')}`
const TIMEOUT_MS = 20_000

/**
 * Where plain reads of code and storage at `pending` answer as for `latest`, `eth_call` with an override of code
 * reads both from the pending block (EXTCODESIZE, EXTCODECOPY, SLOAD), and the profile learns it.
 */
export const pendingState: NodeCase = {
  name: 'code and storage at pending through eth_call',
  quick: true,
  // These nodes have no pending block with the pool's transactions, or no overrides of code in calls.
  leftOut: ({ name }) =>
    /^(geth|anvil)/.test(name) ? undefined : 'calls at pending with overrides are checked on geth and anvil',
  async run(setting) {
    const running = await setting.shared('manual')
    await using bench = await openWorkbench(running)
    const account = await bench.account()
    await bench.take(await bench.sign(account, { to: null, value: 0n, data: CONTRACT, gas: 200_000n }))
    const nonce = BigInt(bench.firstNonce)
    const address = getContractAddress({ from: account.address, nonce })
    const port = flatPort(running)
    try {
      const waited = [
        await waitForCode(port, { address, timeoutMs: TIMEOUT_MS }),
        await waitForStorage(port, { address, slot: 0, value: SEVEN, timeoutMs: TIMEOUT_MS }),
      ]
      const { pendingState: learned } = profileOf(port).current()
      const [pending, latest] = [
        await stateAt(port, address, 'pending'),
        await stateAt(port, address, 'latest'),
      ]
      const isRight = `${waited} ${pending}` === `${CODE},${SEVEN} ${CODE},${SEVEN}` && learned === false
      return {
        ok: isRight && latest[0] === '0x' && BigInt(latest[1]) === 0n,
        says: `pending ${pending}; latest ${latest}; pendingState ${learned}`,
      }
    } finally {
      port.close()
    }
  },
}

async function stateAt(port: Port, address: Address, block: 'pending' | 'latest'): Promise<[Hex, Hex]> {
  return [await getCode(port, { address, block }), await getStorageAt(port, { address, slot: 0, block })]
}

/** The node, with plain reads at `pending` that answer as for `latest`, as Base's flashblocks RPC does. */
function flatPort({ url }: RunningNode): Port {
  const port = createHttpPort({ url, clock: systemClock })
  const flat = ({ method, params }: RpcCall): RpcCall =>
    method === 'eth_getCode' || method === 'eth_getStorageAt'
      ? { method, params: params.map((each) => (each === 'pending' ? 'latest' : each)) }
      : { method, params }
  return { ...port, batch: (calls, options) => port.batch(calls.map(flat), options) }
}
