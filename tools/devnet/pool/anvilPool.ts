import type { Address, Hex } from 'viem'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import { isObject, ok, type RpcRequest } from '../rpc/rpcTypes.js'
import { readAccountStates } from './accountStates.js'
import { type Arrival, createIntake } from './intake.js'
import type { Pool, PoolItem, PoolSend, SignForeign } from './pool.js'
import { recoverAll } from './recover.js'

/** anvil's own pool, with its own rules and error messages. */
export function createAnvilPool(options: {
  readonly rpc: AnvilRpc
  readonly signForeign: SignForeign
}): Pool {
  const { rpc } = options
  const doomed = new Set<Hex>()

  async function take(batch: readonly Arrival[]): Promise<void> {
    for (const { send } of batch) if (send.foreign) await placeForeign(send)
    const kept = batch.filter(({ send }) => send.fate !== 'forget')
    const replies = await rpc.batch(kept.map(({ send }) => sendOf(send.tx.raw)))
    for (const [index, { send, answer }] of kept.entries()) {
      const reply = replies[index]!
      if (send.fate === 'evict' && 'result' in reply) doomed.add(send.tx.hash)
      answer(reply)
    }
    for (const { send, answer } of batch) if (send.fate === 'forget') answer(ok(send.tx.hash))
  }

  async function placeForeign({ tx }: PoolSend): Promise<void> {
    const [from] = await recoverAll(rpc, [tx.signature])
    if (from === undefined) return
    const state = (await readAccountStates(rpc, [from])).get(from)
    const raw = await options.signForeign(from, state?.nonce ?? 0)
    if (raw !== undefined) await rpc.batch([sendOf(raw)])
  }

  const evict = async (hash: Hex) => (await rpc.call('anvil_dropTransaction', [hash])) !== null

  return {
    submit: createIntake(take),
    async stage() {
      for (const hash of doomed) await evict(hash)
      doomed.clear()
    },
    settle: async () => () => undefined,
    evict,
    inject: async (raw) => void (await rpc.call('eth_sendRawTransaction', [raw])),
    readmit: async (raws) => void (await rpc.batch(raws.map(sendOf))),
    waiting: () => undefined,
    contentFrom: () => undefined,
    runEnd: () => undefined,
    list: async () => itemsOf(await rpc.call('txpool_content')),
  }
}

function sendOf(raw: Hex): RpcRequest {
  return { method: 'eth_sendRawTransaction', params: [raw] }
}

function itemsOf(content: unknown): PoolItem[] {
  if (!isObject(content)) return []
  return [content.pending, content.queued]
    .filter(isObject)
    .flatMap((senders) => Object.values(senders).filter(isObject))
    .flatMap((byNonce) => Object.values(byNonce).filter(isObject))
    .map((tx) => ({ hash: tx.hash as Hex, from: tx.from as Address, nonce: Number(tx.nonce) }))
}
