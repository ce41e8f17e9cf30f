import { type Client, type Hex, keccak256, type LocalAccount, toHex } from 'viem'
import * as runtime from '../../src/api/runtime.js'
import { createSenderIn } from '../../src/api/sender/sender.js'
import { createShared, type Environment } from '../../src/chain/environment.js'
import type { Sender } from '../../src/index.js'
import { systemClock, systemRandom } from '../../src/platform/clock.js'
import type { Port, RpcCall, RpcReply } from '../../src/rpc/port.js'
import { memoryStore } from '../../src/store/memory.js'
import { createSimClient } from '../../test/sim/simClient.js'
import { blockOf } from '../../test/soak/retention/stubNode.js'
import { CHAIN_ID } from './node.js'

/** A lane over a node that accepts every transaction and mines none, so that all of them stay in flight. */
export type HoldingLane = {
  readonly sender: Sender
  /** Requests since the last call, each as the methods of its calls. */
  take(): readonly (readonly string[])[]
}

const ZERO: Hex = `0x${'0'.repeat(64)}`

export function openHoldingLane(account: LocalAccount, window: number): HoldingLane {
  const { port, take } = holdingPort()
  const environment: Environment = {
    clock: systemClock,
    random: systemRandom,
    portsOf: () => [{ port, role: 'both' }],
    runtime: () => runtime,
    shared: createShared(),
  }
  const client = createSimClient({ port, chainId: CHAIN_ID, account }) as unknown as Client
  const limits = { window, windowMax: window }
  const options = { client: client as never, store: memoryStore(), lossDepth: 'child' as const, limits }
  return { sender: createSenderIn(environment, options), take }
}

/**
 * A port that only counts accepted transactions, so that the measured memory belongs to the lane and not to a
 * node.
 */
function holdingPort() {
  const genesis = blockOf(0, ZERO, [], systemClock.wallNow())
  const head = blockOf(1, genesis.hash, [], systemClock.wallNow())
  const stats = { requests: 0, calls: 0 }
  let taken = 0
  let requests: (readonly string[])[] = []

  function answer({ method, params }: RpcCall): RpcReply {
    switch (method) {
      case 'eth_chainId':
        return ok(toHex(CHAIN_ID))
      // A client whose pool is known to keep that many transactions of one account.
      case 'web3_clientVersion':
        return ok('anvil/v1.5.0')
      case 'eth_sendRawTransaction':
        taken++
        return ok(keccak256(params[0] as Hex))
      case 'eth_getBlockByNumber':
        return ok(params[0] === toHex(0) ? genesis.wire : head.wire)
      // `pending` counts the pool, which includes all accepted transactions.
      case 'eth_getTransactionCount':
        return ok(toHex(params[1] === 'pending' ? taken : 0))
      case 'eth_getBalance':
        return ok(toHex(10n ** 30n))
      case 'eth_getCode':
        return ok('0x')
      case 'eth_gasPrice':
      case 'eth_maxPriorityFeePerGas':
        return ok('0x3b9aca00')
      default:
        return { ok: false, failure: { kind: 'rpc', code: -32_601, message: `no method ${method}` } }
    }
  }

  const port: Port = {
    name: 'holding',
    kind: 'http',
    stats,
    async batch(calls) {
      stats.requests++
      stats.calls += calls.length
      requests.push(calls.map(({ method }) => method))
      await new Promise<void>((resolve) => void systemClock.setTimer(resolve, 1))
      return calls.map(answer)
    },
    close() {},
  }
  return {
    port,
    take() {
      const all = requests
      requests = []
      return all
    },
  }
}

function ok(result: unknown): RpcReply {
  return { ok: true, result }
}
