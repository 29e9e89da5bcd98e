import { attempt, start, type OnRefusal } from '../../state/actions.js';
import { navigate } from '../../state/location.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';

/** @param isFull true if the service reads all values again, false if it reads only later dates */
export const refreshStore = (id: string, isFull: boolean, onRefusal: OnRefusal) =>
  start(
    () => service.value.call('refreshStore', { params: { store_id: id }, body: { full: isFull, load: true } }),
    onRefusal,
  );

export const deleteStore = (id: string) =>
  attempt(async () => {
    await service.value.call('deleteStore', { params: { store_id: id } });
    showToast('good', `The store ${id} was deleted.`);
    notifyChange();
    navigate('/console/data');
  });
