import type { Address, LocalAccount } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { TxlaneError } from '../../errors/base.js'
import { countCall, decodeNumber } from '../../rpc/codec.js'
import { readError } from '../../rpc/errors.js'
import type { TxRequest } from '../../types/index.js'
import { type LaneKey, laneName } from '../../types/store.js'
import { unsupported } from '../../validate/validate.js'
import { checkTuple, signTuple, type Tuple, tuplesOf } from '../transaction/authorize.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'

/**
 * Signs the delegations of other accounts, then calls `take` with the request to persist, in the same
 * event-loop turn.
 */
export type SignAuthorities = <T>(
  asked: TxRequest,
  accounts: TxRequest['authorize'],
  take: (signed: TxRequest) => T,
) => Promise<T>

/**
 * Signs with the authority's current nonce. That nonce is reliable only if nothing else in this process
 * spends nonces of the account. For other accounts an error is thrown at once, because the chain would skip a
 * stale tuple silently.
 */
export function createAuthorities(parts: {
  readonly endpointPool: Pick<EndpointPool, 'reader'>
  readonly key: LaneKey
  readonly transactions: ReadonlyMap<string, Transaction>
  /** The lanes that are open in this process, by name. */
  readonly lanes: ReadonlyMap<string, unknown>
  readonly timeoutMs: number
}): SignAuthorities {
  const { endpointPool, key } = parts
  // Accounts whose count was read, but whose transaction is not known yet. They count as under way.
  const signing = new Set<string>()

  return async (asked, accounts, take) => {
    const others = new Map<string, LocalAccount>()
    tuplesOf(asked).forEach((tuple, index) => {
      const account = accounts?.[index]?.account
      if (tuple.account && account) others.set(account.address.toLowerCase(), account)
    })
    for (const address of others.keys()) checkFree(address)
    for (const address of others.keys()) signing.add(address)
    try {
      const counts = await readCounts([...others.keys()] as Address[])
      const authorize: Tuple[] = []
      for (const tuple of tuplesOf(asked)) {
        const address = tuple.account?.address.toLowerCase() ?? ''
        const account = others.get(address)
        if (account === undefined) {
          authorize.push(tuple)
          continue
        }
        const nonce = counts.get(address) ?? 0
        counts.set(address, nonce + 1)
        const { contractAddress } = tuple
        const signed = await signTuple(account, { contractAddress, chainId: key.chainId, nonce })
        await checkTuple(account, signed)
        authorize.push({ ...tuple, signed })
      }
      return take({ ...asked, authorize } as TxRequest)
    } finally {
      for (const address of others.keys()) signing.delete(address)
    }
  }

  function checkFree(address: string): void {
    const lane = `${laneName({ ...key, address: address as Address })}@`
    if ([...parts.lanes.keys()].some((name) => name.startsWith(lane)))
      throw unsupported(`an authorization of ${address}, which has a lane here`, 'send it through that lane')
    if (signing.has(address) || [...parts.transactions.values()].some((one) => isUnderWay(one, address)))
      throw unsupported(`two authorizations of ${address} under way`, 'wait until the first is sealed')
  }

  async function readCounts(addresses: readonly Address[]): Promise<Map<string, number>> {
    const tag = endpointPool.reader.profile.current().pending === 'absent' ? 'latest' : 'pending'
    const calls = addresses.map((address) => countCall(address, tag))
    const replies = await endpointPool.reader.port.batch(calls, { timeoutMs: parts.timeoutMs })
    return new Map(
      addresses.map((address, index) => {
        const reply = replies[index]
        if (reply?.ok) return [address, decodeNumber(reply.result, 'eth_getTransactionCount')]
        const { code, details } = readError('eth_getTransactionCount', reply)
        const message = `The nonce of ${address} could not be read.`
        throw new TxlaneError(message, { code, fate: 'notExecuted', details })
      }),
    )
  }
}

function isUnderWay(transaction: Transaction, address: string): boolean {
  if (hasFailed(transaction) || hasReached(transaction, 'sealed')) return false
  return tuplesOf(transaction.request).some((tuple) => tuple.account?.address.toLowerCase() === address)
}
