import { invalid } from '../../../src/errors/invalid.js'
import type { Clock, Random } from '../../../src/platform/clock.js'
import type { CallInfo } from '../rpc/callInfo.js'
import { createCallInfo, isSend } from '../rpc/callInfo.js'
import {
  type CallFault,
  type ChainFault,
  FAULT_KINDS,
  type FaultCall,
  type FaultEntry,
  type FaultHandle,
  type FaultMatch,
  type FaultRule,
  isCallRule,
  isNotificationRule,
  isRequestRule,
  isSendRule,
  type NotificationFault,
  type RequestFault,
  type SubscriptionTopic,
} from './faultRules.js'
import { type FaultPreset, presetRules } from './presets.js'
import { seededRandom } from './seeded.js'

/** The faults of one request, decided once when the request arrives. */
export type FaultPlan = {
  readonly request: readonly (FaultMatch & RequestFault)[]
  /** Faults of each call, by position. */
  readonly calls: readonly (readonly CallFault[])[]
}

/** Fault injection of a devnet. */
export type Faults = {
  /** Adds a rule. @throws TxlaneError `INVALID` for an unknown fault or a probability outside 0 to 1. */
  inject(rule: FaultRule): FaultHandle
  /** Removes all rules. The log stays. */
  clear(): void
  /**
   * Replaces all rules by a preset: `none`, a few faults of each kind in a burst of 1,000 (`default`), many
   * (`storm`).
   */
  preset(name: FaultPreset): void
  /** Entries of the faults that occurred, oldest first; the newest 10,000. */
  log(): readonly FaultEntry[]
}

export type FaultEngine = Faults & {
  plan(calls: readonly CallInfo[]): FaultPlan
  strikes<k extends ChainFault['fault']>(fault: k): (ChainFault & { fault: k }) | undefined
  /** The first rule that strikes one notification of one subscription. */
  notification(topic: SubscriptionTopic, result: unknown): NotificationFault | undefined
}

type Armed = { readonly rule: FaultRule; readonly random: Random; seen: number; hits: number }

const LOG_MAX = 10_000
const NOTHING: FaultPlan = { request: [], calls: [] }

/**
 * Draws from one seed. Each rule has its own sequence, so its decisions depend only on the order of the calls
 * that it matches, not on the timer or on other rules.
 */
export function createFaults(options: { readonly seed: number; readonly clock: Clock }): FaultEngine {
  let armed: Armed[] = []
  let injected = 0
  let log: FaultEntry[] = []
  let strikes = 0

  function note(entry: Omit<FaultEntry, 'atMs'>): void {
    log.push({ ...entry, atMs: options.clock.wallNow() })
    if (log.length > LOG_MAX) log = log.slice(-LOG_MAX / 2)
  }

  function inject(rule: FaultRule): FaultHandle {
    check(rule)
    injected += 1
    const one: Armed = { rule, random: seededRandom(options.seed * 7_919 + injected), seen: 0, hits: 0 }
    armed.push(one)
    return {
      remove() {
        armed = armed.filter((other) => other !== one)
      },
      get hits() {
        return one.hits
      },
    }
  }

  return {
    inject,
    clear() {
      armed = []
    },
    preset(name) {
      armed = []
      for (const rule of presetRules(name)) inject(rule)
    },
    log: () => [...log],
    plan(calls) {
      if (armed.length === 0) return NOTHING
      const request: (FaultMatch & RequestFault)[] = []
      const perCall: CallFault[][] = calls.map(() => [])
      for (const one of armed) {
        const { rule } = one
        if (isRequestRule(rule) && calls.some((call) => matchesRule(rule, call)) && draw(one)) {
          request.push(rule)
          strikes += 1
          for (const call of calls) note({ fault: rule.fault, rule, strike: strikes, ...shown(call) })
        }
        if (!isCallRule(rule)) continue
        for (const [index, call] of calls.entries()) {
          if (!matchesRule(rule, call) || !draw(one)) continue
          perCall[index]?.push(rule)
          strikes += 1
          note({ fault: rule.fault, rule, strike: strikes, ...shown(call) })
        }
      }
      return { request, calls: perCall }
    },
    strikes(fault) {
      for (const one of armed) {
        if (one.rule.fault !== fault || !draw(one)) continue
        strikes += 1
        note({ fault, rule: one.rule, strike: strikes })
        return one.rule as ChainFault & { fault: typeof fault }
      }
      return undefined
    },
    notification(topic, result) {
      const call = createCallInfo({ method: 'eth_subscription', params: [topic, result] })
      for (const one of armed) {
        const { rule } = one
        if (!isNotificationRule(rule) || (rule.topic ?? topic) !== topic) continue
        if (!matchesRule(rule, call) || !draw(one)) continue
        strikes += 1
        note({ fault: rule.fault, rule, strike: strikes, ...shown(call) })
        return rule
      }
      return undefined
    },
  }
}

function draw(one: Armed): boolean {
  const { probability = 1, count = Number.POSITIVE_INFINITY, skip = 0 } = one.rule
  one.seen += 1
  if (one.seen <= skip || one.hits >= count) return false
  if (probability < 1 && one.random() >= probability) return false
  one.hits += 1
  return true
}

/** Whether a rule applies to a call, regardless of its counts and probability. */
export function matchesRule(rule: FaultRule, call: CallInfo): boolean {
  if (isSendRule(rule) && !isSend(call.method)) return false
  const { method, match } = rule
  if (
    method !== undefined &&
    !(Array.isArray(method) ? method.includes(call.method) : method === call.method)
  ) {
    return false
  }
  return match === undefined || match({ params: call.params, ...shown(call) })
}

function shown(call: CallInfo): Omit<FaultCall, 'params'> {
  const transaction = call.transaction()
  return {
    method: call.method,
    ...(transaction === undefined ? {} : { hash: transaction.hash, nonce: transaction.nonce }),
  }
}

function check(rule: FaultRule): void {
  if (!FAULT_KINDS.has(rule.fault)) throw invalid('fault', rule.fault, 'one of the kinds of FaultRule')
  const { probability = 1, count = 1 } = rule
  if (!(probability >= 0 && probability <= 1))
    throw invalid('probability', probability, 'a number from 0 to 1')
  if (!(count >= 0)) throw invalid('count', count, 'a number that is not negative')
}
