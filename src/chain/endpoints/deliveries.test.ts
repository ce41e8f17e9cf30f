import { expect, test } from 'vitest'
import { createProfile } from '../../rpc/profile.js'
import { createShared } from '../environment.js'
import { shareDeliveries } from './endpointPool.js'

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

test('the next profile of a URL begins with the results of earlier deliveries', () => {
  const shared = createShared()
  const first = profileAt(shared, 'http://a')
  expect(first.delivery).toEqual(NOTHING)
  first.show(128)
  first.show(256)
  expect(profileAt(shared, 'http://a').delivery).toEqual(delivered(256))
  expect(profileAt(shared, 'http://b').delivery).toEqual(NOTHING)
  expect(profileAt(createShared(), 'http://a').delivery).toEqual(NOTHING)
})

test('no profile is kept without a URL, and no trait that only the name of the client implies', () => {
  const shared = createShared()
  profileAt(shared, undefined).show(128)
  profileAt(shared, 'http://a').is('anvil/v1.7.1')
  expect(profileAt(shared, undefined).delivery).toEqual(NOTHING)
  expect(profileAt(shared, 'http://a').delivery).toEqual(NOTHING)
})

test('the 256 URLs with the newest profiles are kept', () => {
  const shared = createShared()
  const first = profileAt(shared, 'http://0')
  for (let index = 0; index < 300; index++) {
    profileAt(shared, `http://${index}`).show(index + 1)
    if (index === 200) first.show(1_000)
  }
  expect(shared.deliveries.size).toBe(256)
  expect(profileAt(shared, 'http://0').delivery).toEqual(delivered(1_000))
  expect(profileAt(shared, 'http://44').delivery).toEqual(NOTHING)
  expect(profileAt(shared, 'http://45').delivery).toEqual(delivered(46))
})
