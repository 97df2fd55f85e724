"""What must hold between the parts of the topology."""

from infra import topology
from tests.infra.assembly import ROOT

FOLDERS = {function.folder: function for function in topology.FUNCTIONS}
QUEUES = {queue.name: queue for queue in topology.QUEUES}


def test_names__each_is_used_once() -> None:
    queues = [name for queue in topology.QUEUES for name in (queue.name, queue.dead_letters)]
    for names in ([table.name for table in topology.TABLES], queues, [rule.name for rule in topology.RULES]):
        assert len(names) == len(set(names))
    assert len(FOLDERS) == len(topology.FUNCTIONS)


def test_routes__each_is_served_by_a_function_without_a_queue() -> None:
    assert {FOLDERS[route.function].queue for route in topology.ROUTES} == {None}
    assert len({(route.method, route.path) for route in topology.ROUTES}) == len(topology.ROUTES)


def test_rules__each_leads_to_a_queue_that_one_function_reads() -> None:
    read = [function.queue for function in topology.FUNCTIONS if function.queue is not None]
    assert sorted(read) == sorted(QUEUES)
    assert {rule.queue for rule in topology.RULES} == set(QUEUES)


def test_queues__hide_a_message_six_times_as_long_as_its_function_runs() -> None:
    for function in topology.FUNCTIONS:
        if function.queue is not None:
            assert QUEUES[function.queue].visibility_s >= 6 * function.timeout_s


def test_queues__keep_what_was_given_up_longer_than_what_waits() -> None:
    for queue in topology.QUEUES:
        assert queue.dead_letter_retention_s > queue.retention_s > queue.visibility_s * queue.max_receive_count


def test_functions__each_has_its_handler_and_writes_known_tables() -> None:
    for function in topology.FUNCTIONS:
        assert (ROOT / "functions" / function.folder / "handler.py").is_file()
        assert {*function.writes, *function.clears} <= {table.name for table in topology.TABLES}
        assert not set(function.writes) & set(function.clears)


def test_functions__no_folder_is_left_out() -> None:
    assert {path.parent.name for path in (ROOT / "functions").glob("*/handler.py")} == set(FOLDERS)
