import type { Hex } from 'viem'
import { accountIn } from '../sim/chain/state.js'
import { judge, takeCensus } from '../sim/oracle.js'
import { programOf } from '../sim/program.js'
import { decodeTransaction } from '../sim/transaction.js'
import type { Caller } from './caller.js'
import { LANE, type World } from './world.js'

/** The broken promises, read from the chain, the wire and the caller's answers. */
export function broken(world: World, caller: Caller): string[] {
  const judged = judge(takeCensus(world.chain, LANE), caller.markers, caller.reports)
  return [
    ...judged.map(({ promise, marker, text }) => `${promise}: ${marker ?? ''} ${text}`),
    ...caller.faults.map((text) => `P8: not a typed error: ${text}`),
    ...[...caller.open].map((name) => `P8: ${name} is still open`),
  ]
}

/** Watches the wire: bytes have to be in the store before they are sent. */
export function watchWire(world: World): { readonly broken: readonly string[] } {
  const found: string[] = []
  world.port.onRequest = (calls) => {
    for (const { method, params } of calls) {
      if (method !== 'eth_sendRawTransaction') continue
      const raw = params[0] as Hex
      // Empty bytes only show whether the endpoint has sync sends.
      if (raw === '0x') continue
      const nonce = decodeTransaction(raw)?.nonce ?? 0
      // A nonce that others have used is not a gap, even if a write for it is pending.
      const used = accountIn(world.chain.head.state, LANE).nonce
      const below = [...world.store.awaiting].filter((one) => one < nonce && one >= used)
      if (below.length > 0) found.push(`P6: ${nameOf(raw)} left above ${below}, whose commits are open`)
      if (!world.store.journaled.has(raw)) found.push(`P6: ${nameOf(raw)} left before it was in the store`)
    }
  }
  return { broken: found }
}

/** Any work for the lane after this call is a violation, because the lane has been closed. */
export function watchSilence(world: World): { readonly broken: readonly string[] } {
  const found: string[] = []
  world.port.onRequest = (calls) => {
    // Other lanes may continue; a request belongs to this lane if it names its account.
    const own = calls.find(({ params }) => JSON.stringify(params).toLowerCase().includes(LANE.slice(2)))
    if (own) found.push(`P8: ${own.method} was called after close`)
  }
  world.account.onSign = () => void found.push('P8: after close something was signed')
  world.store.onWrite = () => void found.push('P8: after close something was written')
  return { broken: found }
}

export function listen(world: World): void {
  world.port.onRequest = undefined
  world.account.onSign = undefined
  world.store.onWrite = undefined
}

function nameOf(raw: Hex): string {
  const tx = decodeTransaction(raw)
  if (tx === undefined) return raw.slice(0, 20)
  return `nonce ${tx.nonce} of ${programOf(tx)?.marker ?? 'a no-op'}`
}
