import type { EndpointProfile, ProfileWatch } from '../../rpc/profile.js'
import type { Shared } from '../environment.js'

type Delivery = EndpointProfile['delivery']

const URLS_MAX = 256

/**
 * A lane at a URL begins with the profile that deliveries of this process have learned there, even if their sender is
 * closed. A transport without a URL cannot be recognised.
 */
export function shareDeliveries(
  { deliveries }: Shared,
  url: string | undefined,
  profile: ProfileWatch,
): void {
  if (url === undefined) return
  const known = deliveries.get(url) as Delivery | undefined
  if (known !== undefined) profile.observe({ kind: 'delivered', delivery: known })
  profile.onChange(({ before, now }) => {
    // The known properties of a client are not kept: another client may answer at this URL next time.
    if (now.delivery === before.delivery || now.client !== before.client) return
    deliveries.delete(url)
    deliveries.set(url, now.delivery)
    const [oldest = url] = deliveries.keys()
    if (deliveries.size > URLS_MAX) deliveries.delete(oldest)
  })
}
