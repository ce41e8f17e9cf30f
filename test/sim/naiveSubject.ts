import { type Address, type Hash, type Hex, keccak256 } from 'viem'
import { TxlaneError } from '../../src/errors/base.js'
import { call, type RpcReply } from '../../src/rpc/port.js'
import type { Machine } from './process.js'
import type { Subject, SubjectEnvironment, SubjectRequest, SubjectTx } from './subjectTypes.js'

/**
 * A sender as quickly written by hand: a counter, no journal, no repair, one transaction at a time. It is
 * correct as long as nothing goes wrong, and shows that the worlds are fair and that the check detects
 * faults.
 */
export function createNaiveSubject(environment: SubjectEnvironment): Subject {
  const { ports, clock, account, chainId } = environment
  const [{ port }] = ports as [Machine['ports'][number]]
  const known = new Map<string, SubjectTx>()
  let counter: number | undefined
  let turn: Promise<unknown> = Promise.resolve()

  const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimer(resolve, ms))

  async function ask(method: string, ...params: unknown[]): Promise<unknown> {
    const reply = await call(port, method, params)
    if (reply.ok) return reply.result
    throw failed(reply)
  }

  function failed(reply: RpcReply & { ok: false }): TxlaneError {
    return new TxlaneError(reply.failure.message, { code: 'REJECTED', fate: 'notExecuted' })
  }

  async function sendOnce(request: SubjectRequest, id: string): Promise<SubjectTx> {
    const gas =
      request.gas ??
      BigInt((await ask('eth_estimateGas', wireRequest(account.address, request), 'pending')) as Hex)
    counter ??= Number(await ask('eth_getTransactionCount', account.address, 'pending'))
    const nonce = counter
    const hash = await broadcast(request, gas, nonce, 2n)
    counter = nonce + 1
    const tx = handle(id, hash, [hash], gas, nonce)
    known.set(id, tx)
    return tx
  }

  async function broadcast(
    request: SubjectRequest,
    gas: bigint,
    nonce: number,
    factor: bigint,
  ): Promise<Hash> {
    const feeWei = BigInt((await ask('eth_gasPrice')) as Hex) * factor
    const fees = { maxFeePerGas: feeWei, maxPriorityFeePerGas: feeWei }
    const raw = await account.signTransaction({ ...request, type: 'eip1559', chainId, gas, nonce, ...fees })
    await ask('eth_sendRawTransaction', raw)
    return keccak256(raw)
  }

  /** `hashes` is shared by all transactions that use the nonce. */
  function handle(id: string, own: Hash, hashes: Hash[], gas: bigint, nonce: number): SubjectTx {
    /** The hash that used the nonce, once it is deep enough to stay. */
    async function landed(depth: number): Promise<Hash> {
      for (;;) {
        for (const hash of hashes) {
          const receipt = (await ask('eth_getTransactionReceipt', hash)) as { blockNumber: Hex } | null
          const head = Number(await ask('eth_blockNumber'))
          if (receipt !== null && head >= Number(receipt.blockNumber) + depth) return hash
        }
        await sleep(500)
      }
    }

    return {
      id,
      async wait() {
        const hash = await landed(0)
        if (hash === own) return { nonce, hash }
        throw new TxlaneError('Something else used the nonce.', { code: 'SUPERSEDED', fate: 'notExecuted' })
      },
      async cancel() {
        // A transaction that can no longer be outbid has landed, or will.
        const noop = await broadcast({ to: account.address }, 21_000n, nonce, 4n).catch(() => undefined)
        if (noop !== undefined) hashes.push(noop)
        return { result: (await landed(2)) === own ? 'tooLate' : 'cancelled' }
      },
      async replace(request, options) {
        const hash = await broadcast(request, request.gas ?? gas, nonce, 8n)
        hashes.push(hash)
        return handle(options.id, hash, hashes, gas, nonce)
      },
      async speedUp() {},
    }
  }

  function send(request: SubjectRequest, id: string): Promise<SubjectTx> {
    const next = turn.then(() => sendOnce(request, id))
    turn = next.catch(() => {})
    return next
  }

  return {
    async ready() {},
    send: (request, { id }) => send(request, id),
    sendSequence: (requests, { id }) =>
      Promise.all(requests.map((request, index) => send(request, `${id}/${index}`))),
    get: async (id) => (typeof id === 'string' ? known.get(id) : undefined),
    async reserve() {
      throw new TxlaneError('It has no reservations.', { code: 'UNSUPPORTED', fate: 'notExecuted' })
    },
    onAlarm() {},
    resume() {},
    async resolve() {},
    drain: async () => void (await turn),
    close: async () => void (await turn),
  }
}

function wireRequest(from: Address, { to, data, value }: SubjectRequest) {
  return { from, to, data, ...(value === undefined ? {} : { value: `0x${value.toString(16)}` }) }
}
