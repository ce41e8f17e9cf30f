import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../../src/rpc/port.js'

export type StubAnswer = { readonly result: unknown } | { readonly failure: RpcFailure }

export type StubPort = Port & { readonly batches: readonly (readonly RpcCall[])[] }

/** A port that answers from memory: `answer` answers each batch, and may be asynchronous. */
export function createStubPort(
  answer: (
    calls: readonly RpcCall[],
    number: number,
    options?: BatchOptions,
  ) => Promise<readonly StubAnswer[]> | readonly StubAnswer[],
): StubPort {
  const batches: (readonly RpcCall[])[] = []
  return {
    name: 'stub',
    kind: 'http',
    stats: { requests: 0, calls: 0 },
    batches,
    async batch(calls, options) {
      batches.push(calls)
      return (await answer(calls, batches.length, options)).map(toReply)
    },
    close() {},
  }
}

function toReply(answer: StubAnswer): RpcReply {
  return 'failure' in answer ? { ok: false, failure: answer.failure } : { ok: true, result: answer.result }
}

/** A port that answers each call separately. */
export function createCallPort(answer: (call: RpcCall, batchNumber: number) => StubAnswer): StubPort {
  return createStubPort((calls, number) => calls.map((call) => answer(call, number)))
}

export const hashOf = (digit: string) => `0x${digit.repeat(64)}` as const

/** A block as a node returns it, with transaction hashes. */
export function rawBlock(fields: object = {}) {
  return {
    number: '0x10',
    hash: hashOf('a'),
    parentHash: hashOf('b'),
    timestamp: '0x6553f100',
    baseFeePerGas: '0x7',
    gasLimit: '0x1c9c380',
    gasUsed: '0x5208',
    transactions: [hashOf('1')],
    ...fields,
    ...('transactions' in fields && !('gasUsed' in fields) && (fields.transactions as unknown[]).length === 0
      ? { gasUsed: '0x0' }
      : {}),
  }
}
