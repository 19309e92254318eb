"""The dictionary over the API."""

from ingestion.dictionary import recutting


def test_entries_are_added_listed_changed_and_removed(api, generation, administrator):
    client = api(administrator)
    made = client.post("/api/v1/dictionary/terms", {"text": "流程图谱系"}, format="json")
    assert (made.status_code, made.json()["place"], made.json()["in_force"]) == (201, "everywhere", False)
    assert client.get("/api/v1/dictionary/progress").json()["progress"]["waiting"]
    while recutting.step():
        pass
    path = f"/api/v1/dictionary/terms/{made.json()['id']}"
    assert client.get(path).json()["in_force"]
    assert client.get("/api/v1/dictionary/progress").json()["progress"] is None
    group = {"phrases": ["差旅", "business trip"], "weight": 0.5}
    preview = client.post("/api/v1/dictionary/synonyms/preview", group, format="json").json()
    assert preview["toks"][-1] == {"text": "business trip", "mark": "n"}
    synonyms = client.post("/api/v1/dictionary/synonyms", group, format="json").json()
    changed = client.put(
        f"/api/v1/dictionary/synonyms/{synonyms['id']}", {**group, "one_way": True}, format="json"
    )
    assert changed.json()["one_way"] is True
    assert client.delete(path).status_code == 204
    listed = client.get("/api/v1/dictionary/synonyms", {"q": "差旅"}).json()["results"]
    assert [row["phrases"] for row in listed] == [["差旅", "business trip"]]


def test_a_token_that_may_not_administer_changes_nothing_everywhere(api, generation, administrator, outsider):
    body = {"text": "流程图谱系"}
    client = api(administrator, scopes=("ingest",))
    assert client.post("/api/v1/dictionary/terms", body, format="json").status_code == 403
    assert api(outsider).get("/api/v1/dictionary/terms").status_code == 403
    refused = api(administrator).post("/api/v1/dictionary/terms", {"text": "号"}, format="json")
    assert (refused.status_code, list(refused.json()["error"]["fields"])) == (400, ["text"])
