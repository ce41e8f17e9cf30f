import { type Chain, createWalletClient, defineChain, type Hex, http } from 'viem'
import {
  createSender,
  type LaneOptions,
  memoryStore,
  type Sender,
  type TxRequest,
} from '../../../src/index.js'
import { pause } from '../../support/pause.js'
import type { RunningNode } from '../run/startNode.js'
import type { Fresh } from './accounts.js'
import { within } from './within.js'
import { NOBODY, TRANSFER_GAS } from './workbench.js'

type Options = Omit<LaneOptions<Chain>, 'store'>

/** Opens a lane like a script that has just started: its own store has no record of an earlier run. */
export async function openLane(
  running: RunningNode,
  { account }: Pick<Fresh, 'account'>,
  { url = running.url, ...options }: Options & { readonly url?: string } = {},
): Promise<Sender> {
  const id = Number((await running.rpc.call('eth_chainId')) as Hex)
  const chain = defineChain({
    id,
    name: 'Local node',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  return createSender({
    client: createWalletClient({ account, chain, transport: http() }),
    store: memoryStore(),
    ...(options as object),
  }) as unknown as Sender
}

/** The observable state of pending payments. */
export type Burst = {
  /** The number of payments in sealed blocks so far. */
  readonly sealed: number
  /** The errors of the other payments. */
  readonly failed: readonly unknown[]
  /** Settles when each payment is sealed or has failed. */
  readonly done: Promise<void>
}

/** Sends this number of transfers at once, with different values from `first` on. */
export function startBurst(sender: Sender, amount: number, first = 1): Burst {
  let sealed = 0
  const failed: unknown[] = []
  const one = async (value: bigint) => {
    const tx = await sender.send(payment(value), { until: 'queued' })
    await tx.wait('sealed')
    sealed++
  }
  const values = Array.from({ length: amount }, (_, index) => BigInt(first + index))
  const all = values.map((value) => one(value).catch((error: unknown) => void failed.push(error)))
  return {
    get sealed() {
      return sealed
    },
    failed,
    done: Promise.all(all).then(() => undefined),
  }
}

export function payment(value: bigint): TxRequest {
  return { to: NOBODY, value, gas: TRANSFER_GAS } as TxRequest
}

const LOOK_MS = 20

/** @throws Error if it does not become true in time */
export async function until(limitMs: number, what: string, isTrue: () => boolean | Promise<boolean>) {
  let waits = true
  const look = async () => {
    while (waits && !(await isTrue())) await pause(LOOK_MS)
  }
  await within(limitMs, what, look()).finally(() => {
    waits = false
  })
}

const BETWEEN_BLOCKS_MS = 100

/** Makes blocks until the promise has settled, in the mode `manual`. */
export async function mineUntil<t>(running: RunningNode, what: string, promise: Promise<t>): Promise<t> {
  let waits = true
  const mine = async () => {
    for (; waits; await pause(BETWEEN_BLOCKS_MS)) await running.mine()
  }
  const mining = mine()
  try {
    return await within(20_000, what, promise)
  } finally {
    waits = false
    await mining
  }
}
