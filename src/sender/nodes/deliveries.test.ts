import { expect, test } from 'vitest'
import { createProfile } from '../../rpc/profile.js'
import { createShared } from '../environment.js'
import { shareDeliveries } from './deliveries.js'

const delivered = (window: number) => ({ window, pool: 4_000, batch: 100 })

function profileAt(shared: ReturnType<typeof createShared>, url: string | undefined) {
  const profile = createProfile()
  shareDeliveries(shared, url, profile)
  return {
    show: (window: number) => profile.observe({ kind: 'delivered', delivery: delivered(window) }),
    is: (client: string) => profile.observe({ kind: 'client', version: client }),
    get delivery() {
      return profile.current().delivery
    },
  }
}

const NOTHING = { window: undefined, pool: undefined, batch: undefined }

test('what deliveries have shown of a URL is where the next profile of that URL begins', () => {
  const shared = createShared()
  const first = profileAt(shared, 'http://a')
  expect(first.delivery).toEqual(NOTHING)
  first.show(128)
  first.show(256)
  expect(profileAt(shared, 'http://a').delivery).toEqual(delivered(256))
  expect(profileAt(shared, 'http://b').delivery).toEqual(NOTHING)
  expect(profileAt(createShared(), 'http://a').delivery).toEqual(NOTHING)
})

test('not without a URL, and not what a client is only known for', () => {
  const shared = createShared()
  profileAt(shared, undefined).show(128)
  profileAt(shared, 'http://a').is('anvil/v1.7.1')
  expect(profileAt(shared, undefined).delivery).toEqual(NOTHING)
  expect(profileAt(shared, 'http://a').delivery).toEqual(NOTHING)
})

test('of 256 URLs, those that were learnt last', () => {
  const shared = createShared()
  for (let index = 0; index < 300; index++) profileAt(shared, `http://${index}`).show(index + 1)
  expect(shared.deliveries.size).toBe(256)
  expect(profileAt(shared, 'http://43').delivery).toEqual(NOTHING)
  expect(profileAt(shared, 'http://44').delivery).toEqual(delivered(45))
})
