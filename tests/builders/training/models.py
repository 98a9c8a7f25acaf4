"""Models as the store has them."""

from __future__ import annotations

import orjson

from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import Model, ModelMetrics
from tests.builders.stores import NOON_S, TRAIN


def a_model(ceiling_mib: int = 512) -> Model:
    return Model(
        task=str(TRAIN),
        schema=FeatureSchema.fit([{"rows": 1.0}, {"rows": 2.0}]),
        bins=Bins((ceiling_mib * 2**20,), (10,), (1e8,), (60.0,)),
        predictor=None,
        trained_s=NOON_S,
        observations=10,
        metrics=ModelMetrics(
            u_score=0.2,
            accuracy=0.998,
            u_rate=0.0,
            optimal_improvement=0.5,
            estimated_improvement=0.499,
            confusion=((10,),),
            classifier="none",
            sampler="none",
            penalty=10.0,
        ),
    )


MODEL_BYTES = len(orjson.dumps(a_model().to_dict(), option=orjson.OPT_SERIALIZE_NUMPY)) + 20
"""As the feed has it, with its task's name."""
